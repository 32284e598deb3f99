#include "consumer/unobserved_watermarks.hpp"

#include <set>
#include <string>
#include <vector>

#include "inbox/shard_position.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr kafka::Timeout watermark_timeout{1'000};
/// Longer than the interval at which an instance that reads a partition records its watermark.
constexpr auto max_observed_age = 8s;
constexpr auto run_interval = 5s;
constexpr auto initial_run_interval = 1s;
constexpr auto start_takes = 10s;

}  // namespace

void UnobservedWatermarks::run(Clock::time_point now) {
  if (began_ == Clock::time_point{}) began_ = now;
  if (const auto answer = request_.take()) {
    if (answer->ok()) record(answer->value(), now);
  }
  if (now < next_ || request_.is_pending()) return;
  next_ = now + (now - began_ < start_takes ? Clock::duration{initial_run_interval} : run_interval);
  send_query(now);
}

void UnobservedWatermarks::send_query(Clock::time_point now) {
  // All of them the first time: watermarks recorded before a restart may be a few seconds old.
  const auto found =
      inbox::unobserved_shards(connection_, has_recorded_ ? std::chrono::milliseconds{max_observed_age} : 0ms);
  std::set<std::string> names;
  for (const auto& shard : found) {
    if (topics_.find(shard.topic) != nullptr && topics_.shard().owns(shard.partition)) names.insert(shard.topic);
  }
  if (names.empty()) return;
  const auto described = kafka::describe_topics(query_client_, {names.begin(), names.end()}, watermark_timeout);
  if (!described) return;
  std::map<std::string, std::string> incarnations;
  for (const auto& topic : described.value()) incarnations[topic.name] = topic.incarnation;
  shards_.clear();
  std::vector<kafka::TopicPartition> partitions;
  for (const auto& shard : found) {
    if (!topics_.shard().owns(shard.partition)) continue;
    // In a topic that was created again the position means nothing. Its look-up halts the shard.
    const auto known = incarnations.find(shard.topic);
    if (known == incarnations.end() || known->second != shard.incarnation) continue;
    partitions.push_back({shard.topic, shard.partition});
    shards_[partitions.back()] = shard.shard_id;
  }
  if (partitions.empty()) return;
  queried_at_ = now;
  request_.send(query_client_, partitions, watermark_timeout);
}

void UnobservedWatermarks::record(const kafka::EndOffsetsRequest::Offsets& offsets, Clock::time_point now) {
  std::vector<inbox::Watermark> watermarks;
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - queried_at_);
  for (const auto& [partition, high] : offsets) {
    const auto shard = shards_.find(partition);
    if (shard != shards_.end()) watermarks.push_back({shard->second, high, std::nullopt, age});
  }
  inbox::record_watermarks(connection_, watermarks);
  has_recorded_ = true;
  log_.debug("consumer.unread_ends_recorded", {{"partitions", watermarks.size()}});
}

}  // namespace inboxd::consumer
