#include "consumer/readings.hpp"

#include <algorithm>
#include <map>

#include "kafka/lookup.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr kafka::Timeout reading_timeout{1'000};
constexpr auto record_interval = 5s;
constexpr auto list_interval = 30s;
/// Longer than the interval at which the reader of a partition records it.
constexpr auto unread_after = 8s;

std::optional<std::int64_t> known(std::int64_t offset) { return offset < 0 ? std::nullopt : std::optional{offset}; }

}  // namespace

void Readings::run(Clock::time_point now) {
  if (const auto answer = request_.take()) {
    for (inbox::UnreadPartition& partition : unread_) {
      if (!answer->ok()) break;
      const auto found = answer->value().find({partition.topic, partition.partition});
      if (found != answer->value().end()) partition.high_watermark = found->second;
    }
    record_unread();
  }
  if (now < next_ || request_.is_pending()) return;
  next_ = now + record_interval;
  record_own(now);
  if (now >= next_list_) list_partitions(now);
  look_for_unread(now);
}

void Readings::record_own(Clock::time_point) {
  std::vector<inbox::Reading> out;
  for (const PartitionStatus::Entry& entry : status_.entries()) {
    out.push_back({entry.partition.topic, entry.partition.partition, known(entry.position), known(entry.high_watermark),
                   entry.position < 0 ? std::optional{entry.reason} : std::nullopt});
  }
  inbox::record_readings(connection_, owner_, out);
}

void Readings::list_partitions(Clock::time_point now) {
  const auto listed = kafka::list_topics(query_client_, reading_timeout);
  if (!listed) return;
  std::vector<std::string> names;
  for (const std::string& name : listed.value()) {
    if (topics_.find(name) != nullptr) names.push_back(name);
  }
  const auto described = kafka::describe_topics(query_client_, names, reading_timeout);
  if (!described) return;
  all_.clear();
  for (const auto& topic : described.value()) {
    for (std::int32_t i = 0; i < topic.partitions; ++i) {
      if (topics_.shard().owns(i)) all_.push_back({topic.name, i});
    }
  }
  next_list_ = now + list_interval;
}

void Readings::look_for_unread(Clock::time_point now) {
  unread_ = inbox::unread_partitions(connection_, all_, unread_after);
  if (unread_.empty()) return;
  name_members(now);
  std::vector<kafka::TopicPartition> partitions;
  partitions.reserve(unread_.size());
  for (const auto& partition : unread_) partitions.push_back({partition.topic, partition.partition});
  request_.send(query_client_, partitions, reading_timeout);
}

/// A member that has a partition about which no instance records anything is a foreign member, or hangs.
void Readings::name_members(Clock::time_point now) {
  const auto members = members_.ask({kafka_.brokers, "", "", kafka_.properties_now()}, kafka_.group, now);
  if (!members) return;
  std::map<kafka::TopicPartition, std::string> member_of;
  for (const kafka::GroupMember& member : *members) {
    for (const auto& partition : member.partitions) member_of[partition] = member.client_id + " at " + member.host;
  }
  for (inbox::UnreadPartition& partition : unread_) {
    const auto found = member_of.find({partition.topic, partition.partition});
    if (found != member_of.end()) partition.member = found->second;
  }
}

void Readings::record_unread() {
  inbox::record_unread(connection_, unread_, unread_after);
  unread_.clear();
}

}  // namespace inboxd::consumer
