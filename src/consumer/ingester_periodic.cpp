// An ingester's periodic work: first starts, checks of positions and topics, watermarks.
#include <set>

#include "config/suggest.hpp"
#include "consumer/first_positions.hpp"
#include "consumer/ingester.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::consumer {
namespace {

constexpr std::chrono::seconds stall_check_interval{1};
constexpr std::chrono::seconds start_retry_after{1};

}  // namespace

void Ingester::do_periodic_work(std::uint64_t revocations) {
  if (position_check_.is_due(connection_.generation(), std::chrono::steady_clock::now())) {
    beat();
    check_positions(revocations);
  }
  check_stalls();
  if (!entries_to_start_.empty() && std::chrono::steady_clock::now() >= next_start_) start_entries();
  if (is_first_) record_unobserved_watermarks();
}

void Ingester::start_entries() {
  // Also for an entry without any topic, of which nothing is assigned: topics that appear after this count as later
  // topics.
  const auto failure = inbox::failure_of([&] {
    for (auto entry = entries_to_start_.begin(); entry != entries_to_start_.end() && !stop_.is_requested();) {
      beat();
      const auto not_yet = start_entry(
          connection_, context_.clients, context_.topics, **entry, [this] { beat(); }, context_.log);
      if (!not_yet) {
        entry = entries_to_start_.erase(entry);
        continue;
      }
      context_.log.debug("consumer.first_start_postponed", {{"reason", not_yet->reason}});
      if (not_yet->is_unanswered) {
        context_.status.unanswered();
        break;
      }
      ++entry;
    }
  });
  if (failure) context_.log.debug("consumer.first_start_postponed", {{"error", failure->message}});
  next_start_ = std::chrono::steady_clock::now() + start_retry_after;
}

void Ingester::check_stalls() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_stall_check_) return;
  next_stall_check_ = now + stall_check_interval;
  const std::uint64_t waiting = rd_kafka_queue_length(queue_.get());
  for (auto& [partition, shard] : shards_) {
    if (!shard.is_read() || !shard.stall_detector.is_stalled(now, taken_, waiting)) continue;
    context_.log.warn(
        "consumer.stalled",
        {{"topic", partition.topic}, {"partition", partition.partition}, {"position", shard.position.next_offset}});
    look_up_again(shard);
  }
}

void Ingester::record_unobserved_watermarks() {
  beat();
  const auto failure = inbox::failure_of([&] {
    unobserved_watermarks_.run(std::chrono::steady_clock::now());
    beat();
    readings_.run(std::chrono::steady_clock::now());
  });
  if (failure) context_.log.debug("consumer.unread_ends_failed", {{"error", failure->message}});
}

void Ingester::handle(const RecordWatermarks& message) {
  std::vector<inbox::Watermark> watermarks;
  for (const RecordWatermarks::Mark& mark : message.marks) {
    const auto found = shards_.find(mark.partition);
    if (found == shards_.end() || !found->second.has_lag()) continue;
    watermarks.push_back({found->second.position.shard_id, mark.high, mark.stable, mark.age});
  }
  const auto failure = inbox::failure_of([&] { inbox::record_watermarks(connection_, watermarks); });
  if (failure) context_.log.debug("consumer.watermarks_not_recorded", {{"error", failure->message}});
}

/// Lists all topics, at most once a call, to suggest the topic that was meant.
void Ingester::report_unknown_topics(const std::set<std::string>& topics) {
  std::map<std::string, std::string> unknown;
  std::optional<std::vector<std::string>> listed;
  for (const std::string& topic : topics) {
    if (const auto known = unknown_topics_.find(topic); known != unknown_topics_.end()) {
      unknown.insert(*known);
      continue;
    }
    if (!listed) {
      auto answer = kafka::list_topics(context_.clients.query, kafka::Timeout{1'000});
      listed = answer ? std::move(answer).value() : std::vector<std::string>{};
    }
    const std::string remedy = config::remedy_for_topic(topic, *listed);
    context_.log.warn("consumer.unknown_topic", {{"topic", topic}, {"remedy", remedy}});
    unknown.emplace(topic, remedy);
  }
  unknown_topics_ = std::move(unknown);
  context_.status.answered(unknown_topics_);
}

void Ingester::handle(const CheckIncarnations&) {
  std::set<std::string> names;
  for (const auto& [partition, shard] : shards_) {
    if (shard.is_read() && !shard.position.incarnation.empty()) names.insert(partition.topic);
  }
  if (is_first_) names.merge(context_.topics.names());
  // A single request for all topics, so brokers that are away cost a single timeout.
  const auto described =
      kafka::describe_topics(context_.clients.query, {names.begin(), names.end()}, kafka::Timeout{1'000});
  if (!described) {
    context_.status.unanswered();
    return;
  }
  std::map<std::string, std::string> now;
  for (const auto& topic : described.value()) now[topic.name] = topic.incarnation;
  if (is_first_) {
    std::erase_if(names, [&](const std::string& name) { return now.contains(name); });
    report_unknown_topics(names);
  }
  for (auto& [partition, shard] : shards_) {
    if (!shard.is_read() || shard.position.incarnation.empty()) continue;
    const auto known = now.find(partition.topic);
    // The look-up halts the shard of a topic that was created again, with the reason.
    if (known == now.end() || known->second.empty() || known->second == shard.position.incarnation) continue;
    look_up_again(shard);
  }
}

void Ingester::check_positions(std::uint64_t revocations) {
  const auto failure = inbox::failure_of([&] {
    const auto found = position_check_.run(connection_, shards_, std::chrono::steady_clock::now());
    // Another instance may have moved partitions that were revoked meanwhile. The others are checked next time.
    if (context_.revocations != revocations) return;
    for (const PositionMismatch& mismatch : found) {
      Shard& shard = *mismatch.shard;
      const base::Logger::Facts facts{
          {"topic", shard.assignment.partition.topic},
          {"partition", shard.assignment.partition.partition},
          {"stored", shard.position.next_offset},
          {"position", mismatch.next_offset ? std::to_string(*mismatch.next_offset) : "none"}};
      if (mismatch.is_behind) {
        context_.log.error("consumer.position_rolled_back", facts);
      } else {
        context_.log.warn("consumer.position_moved", facts);
      }
      look_up_again(shard);
    }
  });
  if (failure) context_.log.debug("consumer.position_check_failed", {{"error", failure->message}});
}

}  // namespace inboxd::consumer
