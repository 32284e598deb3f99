#include "consumer/first_positions.hpp"

#include <algorithm>
#include <iterator>

#include "inbox/shards.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::consumer {
namespace {

constexpr kafka::Timeout broker_timeout{3'000};
constexpr config::StartAt beginning{config::StartAt::Kind::beginning, 0};

/// Where a partition without a position begins.
base::Result<std::int64_t> first_offset(const Clients& clients, const kafka::TopicPartition& partition,
                                        const config::StartAt& start) {
  using Kind = config::StartAt::Kind;
  auto bounds = kafka::log_bounds(clients.asker, partition, broker_timeout);
  if (!bounds) return bounds.problem();
  if (start.kind == Kind::beginning) return bounds.value().low;
  if (start.kind == Kind::end) return bounds.value().high;
  if (start.kind == Kind::time) return kafka::offset_at(clients.asker, partition, start.time_us, broker_timeout);
  auto committed = kafka::committed_offset(clients.member, partition, broker_timeout);
  if (!committed) return committed.problem();
  return committed.value().value_or(bounds.value().low);
}

/// Names in a list that belong to one entry of the configuration.
std::vector<std::string> of_entry(const std::vector<std::string>& names, const Topics& topics,
                                  const config::Topic& entry) {
  std::vector<std::string> out;
  std::copy_if(names.begin(), names.end(), std::back_inserter(out),
               [&](const std::string& name) { return topics.find(name) == &entry; });
  return out;
}

std::string name_of(const config::Topic& entry) { return entry.name.empty() ? entry.pattern : entry.name; }

/// First positions of a topic's partitions that have none; without an offset where a partition has no leader.
std::optional<base::Problem> resolve(inbox::Connection& connection, const Clients& clients, const std::string& topic,
                                     const config::StartAt& start, const Moved& moved,
                                     std::vector<inbox::FirstPosition>& out) {
  const auto description = kafka::describe_topic(clients.asker, topic, broker_timeout);
  if (!description) return description.problem();
  const auto& [name, partitions, incarnation, leaderless] = description.value();
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    moved();
    if (inbox::find_position(connection, topic, partition)) continue;
    out.push_back({topic, incarnation, partition, std::nullopt});
    if (leaderless.contains(partition)) continue;
    const auto offset = first_offset(clients, {topic, partition}, start);
    if (!offset) return offset.problem();
    out.back().next_offset = offset.value();
  }
  return std::nullopt;
}

void drop_unknown(std::vector<inbox::FirstPosition>& positions) {
  std::erase_if(positions, [](const inbox::FirstPosition& position) { return !position.next_offset; });
}

}  // namespace

std::optional<base::Problem> start_entry(inbox::Connection& connection, const Clients& clients, const Topics& topics,
                                         const config::Topic& entry, const Moved& moved) {
  if (inbox::started_at(connection, name_of(entry))) return std::nullopt;
  // Where the configuration says it in other words now (a wider pattern), topics are known already: the rest is later.
  const bool is_later = !of_entry(inbox::known_topics(connection), topics, entry).empty();
  const auto all = kafka::list_topics(clients.asker, broker_timeout);
  if (!all) return all.problem();
  std::vector<inbox::FirstPosition> positions;
  for (const std::string& topic : of_entry(all.value(), topics, entry)) {
    auto problem = resolve(connection, clients, topic, is_later ? beginning : entry.start, moved, positions);
    if (problem) return problem;
  }
  if (is_later) drop_unknown(positions);
  inbox::write_first_positions(connection, positions, name_of(entry));
  return std::nullopt;
}

std::optional<base::Problem> start_later(inbox::Connection& connection, const Clients& clients,
                                         const kafka::TopicPartition& partition, const config::Topic& entry,
                                         const Moved& moved) {
  const bool was_put_off = inbox::is_put_off(connection, partition.topic, partition.partition);
  config::StartAt start = was_put_off ? entry.start : beginning;
  const auto started_at = inbox::started_at(connection, name_of(entry));
  // Its end of then: nobody wrote to it while it had no leader.
  if (start.kind == config::StartAt::Kind::end && started_at) start = {config::StartAt::Kind::time, *started_at};
  std::vector<inbox::FirstPosition> positions;
  auto problem = resolve(connection, clients, partition.topic, start, moved, positions);
  if (problem) return problem;
  drop_unknown(positions);
  // What else the topic has without a position may be of the other kind.
  if (was_put_off) std::erase_if(positions, [&](const auto& other) { return other.partition != partition.partition; });
  inbox::write_first_positions(connection, positions);
  return std::nullopt;
}

}  // namespace inboxd::consumer
