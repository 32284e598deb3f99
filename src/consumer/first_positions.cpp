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
base::Result<std::int64_t> first_offset(rd_kafka_t* client, const kafka::TopicPartition& partition,
                                        const config::StartAt& start) {
  using Kind = config::StartAt::Kind;
  auto bounds = kafka::log_bounds(client, partition, broker_timeout);
  if (!bounds) return bounds.problem();
  if (start.kind == Kind::beginning) return bounds.value().low;
  if (start.kind == Kind::end) return bounds.value().high;
  if (start.kind == Kind::time) return kafka::offset_at(client, partition, start.time_us, broker_timeout);
  auto committed = kafka::committed_offset(client, partition, broker_timeout);
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

/// First positions of a topic's partitions that have none.
std::optional<base::Problem> resolve(inbox::Connection& connection, rd_kafka_t* client, const std::string& topic,
                                     const config::StartAt& start, std::vector<inbox::FirstPosition>& out) {
  const auto description = kafka::describe_topic(client, topic, broker_timeout);
  if (!description) return description.problem();
  for (std::int32_t partition = 0; partition < description.value().partitions; ++partition) {
    if (inbox::find_position(connection, topic, partition)) continue;
    const auto offset = first_offset(client, {topic, partition}, start);
    if (!offset) return offset.problem();
    out.push_back({topic, description.value().incarnation, partition, offset.value()});
  }
  return std::nullopt;
}

}  // namespace

std::optional<base::Problem> start_entry(inbox::Connection& connection, rd_kafka_t* client, const Topics& topics,
                                         const config::Topic& entry) {
  const std::string& name = entry.name.empty() ? entry.pattern : entry.name;
  if (inbox::has_started(connection, name)) return std::nullopt;
  // Where the configuration says it in other words now (a wider pattern), topics are known already: the rest is later.
  const bool is_later = !of_entry(inbox::known_topics(connection), topics, entry).empty();
  const auto all = kafka::list_topics(client, broker_timeout);
  if (!all) return all.problem();
  std::vector<inbox::FirstPosition> positions;
  for (const std::string& topic : of_entry(all.value(), topics, entry)) {
    auto problem = resolve(connection, client, topic, is_later ? beginning : entry.start, positions);
    if (problem) return problem;
  }
  inbox::write_first_positions(connection, positions, name);
  return std::nullopt;
}

std::optional<base::Problem> start_later_topic(inbox::Connection& connection, rd_kafka_t* client,
                                               const std::string& name) {
  std::vector<inbox::FirstPosition> positions;
  auto problem = resolve(connection, client, name, beginning, positions);
  if (problem) return problem;
  inbox::write_first_positions(connection, positions);
  return std::nullopt;
}

}  // namespace inboxd::consumer
