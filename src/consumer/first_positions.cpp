#include "consumer/first_positions.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>

#include "inbox/shard_position.hpp"

namespace inboxd::consumer {
namespace {

constexpr kafka::Timeout broker_timeout{3'000};
/// After a leader that did not answer, so that its other partitions cost little.
constexpr kafka::Timeout next_timeout{500};
constexpr config::StartAt beginning{config::StartAt::Kind::beginning, 0};
/// How much older than its arrival a record's own time may be: producers buffer records that they cannot send (two
/// minutes by default), and their clocks differ.
constexpr std::chrono::microseconds late_records = std::chrono::minutes{10};

/// First positions to write, and the partitions that the group has read before.
struct Resolved {
  struct ReadBefore {
    kafka::TopicPartition partition;
    std::int64_t group_offset = 0;
    std::int64_t begins_at = 0;
  };
  std::vector<inbox::FirstPosition> positions;
  std::vector<ReadBefore> read_before;
  std::vector<base::Problem> unanswered;  ///< of partitions whose leader did not answer: put off, as without a leader
};

/// The offset of `start` in the partition's log.
base::Result<std::int64_t> wanted_offset(const kafka::Clients& clients, const kafka::TopicPartition& partition,
                                         const config::StartAt& start, const kafka::LogBounds& log,
                                         kafka::Timeout timeout) {
  using Kind = config::StartAt::Kind;
  if (start.kind == Kind::time) return kafka::offset_at(clients.query, partition, start.time_us, timeout);
  return start.kind == Kind::end ? log.high : log.low;
}

/// The group's offsets; none if `start` ignores them.
base::Result<std::map<std::int32_t, std::int64_t>> group_offsets(const kafka::Clients& clients,
                                                                 const std::string& topic, int partitions,
                                                                 const config::StartAt& start) {
  if (start.kind == config::StartAt::Kind::beginning) return std::map<std::int32_t, std::int64_t>{};
  return kafka::committed_offsets(clients.member, topic, partitions, broker_timeout);
}

/// The topics of a list that belong to an entry of the configuration.
std::vector<std::string> names_of_entry(const std::vector<std::string>& names, const config::Topics& topics,
                                        const config::Topic& entry) {
  std::vector<std::string> out;
  std::copy_if(names.begin(), names.end(), std::back_inserter(out),
               [&](const std::string& name) { return topics.find(name) == &entry; });
  return out;
}

NotNow not_now(const base::Problem& problem) { return {problem.message, kafka::is_unanswered(problem)}; }

std::string name_of(const config::Topic& entry) { return entry.name.empty() ? entry.pattern : entry.name; }

/// Finds first positions for a topic's partitions that have none. A partition without a leader, or with a silent
/// leader, gets no offset.
std::optional<base::Problem> resolve(inbox::Connection& connection, const kafka::Clients& clients,
                                     const config::ShardOf& shard, const std::string& topic,
                                     const config::StartAt& start, const OnProgress& on_progress, Resolved& out) {
  const auto description = kafka::describe_topic(clients.query, topic, broker_timeout);
  if (!description) return description.problem();
  const auto& [name, partitions, incarnation, leaderless] = description.value();
  const auto committed = group_offsets(clients, topic, partitions, start);
  if (!committed) return committed.problem();
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    if (!shard.owns(partition)) continue;
    on_progress();
    if (inbox::find_position(connection, topic, partition)) continue;
    out.positions.push_back({topic, incarnation, partition, std::nullopt});
    if (leaderless.contains(partition)) continue;
    const kafka::Timeout timeout = out.unanswered.empty() ? broker_timeout : next_timeout;
    const auto log = kafka::log_bounds(clients.query, {topic, partition}, timeout);
    const auto wanted = log ? wanted_offset(clients, {topic, partition}, start, log.value(), timeout)
                            : base::Result<std::int64_t>{log.problem()};
    if (!wanted) {
      out.unanswered.push_back(wanted.problem());
      continue;
    }
    const auto known = committed.value().find(partition);
    const auto group_offset = known == committed.value().end() ? std::nullopt : std::optional{known->second};
    const FirstOffset first = first_offset_for(start.kind, log.value(), wanted.value(), group_offset);
    out.positions.back().next_offset = first.offset;
    if (first.was_read_before) out.read_before.push_back({{topic, partition}, *group_offset, first.offset});
  }
  return std::nullopt;
}

void drop_unknown(std::vector<inbox::FirstPosition>& positions) {
  std::erase_if(positions, [](const inbox::FirstPosition& position) { return !position.next_offset; });
}

void report(const Resolved& resolved, base::Logger& log) {
  for (const auto& [partition, group_offset, begins_at] : resolved.read_before) {
    log.error("consumer.group_read_elsewhere", {{"topic", partition.topic},
                                                {"partition", partition.partition},
                                                {"group_offset", group_offset},
                                                {"begins_at", begins_at}});
  }
}

}  // namespace

config::StartAt start_for_postponed(const config::StartAt& start, std::optional<event::Microseconds> first_start) {
  if (start.kind != config::StartAt::Kind::end || !first_start) return start;
  return {config::StartAt::Kind::time, *first_start - late_records.count()};
}

FirstOffset first_offset_for(config::StartAt::Kind start, const kafka::LogBounds& log, std::int64_t wanted,
                             std::optional<std::int64_t> group_offset) {
  using Kind = config::StartAt::Kind;
  if (start == Kind::beginning) return {log.low, false};
  if (start == Kind::committed) return {group_offset.value_or(log.low), false};
  if (!group_offset) return {wanted, false};
  const bool is_in_log = log.low <= *group_offset && *group_offset <= log.high;
  const std::int64_t limit = is_in_log ? *group_offset : log.low;
  return {std::min(wanted, limit), limit <= wanted && *group_offset != log.low};
}

std::optional<NotNow> start_entry(inbox::Connection& connection, const kafka::Clients& clients,
                                  const config::Topics& topics, const config::Topic& entry,
                                  const OnProgress& on_progress, base::Logger& log) {
  if (inbox::started_at(connection, name_of(entry))) return std::nullopt;
  // If the entry was reworded (a wider pattern), some of its topics are known, and the others appeared later.
  const bool is_later = !names_of_entry(inbox::known_topics(connection), topics, entry).empty();
  const auto all = kafka::list_topics(clients.query, broker_timeout);
  if (!all) return not_now(all.problem());
  const auto listed = names_of_entry(all.value(), topics, entry);
  if (listed.empty() && !entry.name.empty()) {
    // A list leaves hidden topics out. Taken for a missing topic, a hidden topic would be read from its beginning once
    // it is visible, whatever `start` says.
    const auto exists = kafka::has_topic(clients.query, entry.name, broker_timeout);
    if (!exists) return not_now(exists.problem());
    if (exists.value()) return NotNow{"topic " + entry.name + " has only just appeared"};
  }
  Resolved resolved;
  for (const std::string& topic : listed) {
    auto problem = resolve(connection, clients, topics.shard(), topic, is_later ? beginning : entry.start, on_progress,
                           resolved);
    if (problem) return not_now(*problem);
  }
  // A silent leader holds up no other partition. If none answers, it is worth waiting: `end` is not exact afterwards.
  const bool any_known = std::any_of(resolved.positions.begin(), resolved.positions.end(),
                                     [](const auto& position) { return position.next_offset.has_value(); });
  if (!any_known && !resolved.unanswered.empty()) return not_now(resolved.unanswered.front());
  if (is_later) drop_unknown(resolved.positions);
  if (inbox::write_first_positions(connection, resolved.positions, name_of(entry)) > 0) report(resolved, log);
  return std::nullopt;
}

std::optional<NotNow> start_later(inbox::Connection& connection, const kafka::Clients& clients,
                                  const config::ShardOf& shard, const kafka::TopicPartition& partition,
                                  const config::Topic& entry, const OnProgress& on_progress, base::Logger& log) {
  const bool was_postponed = inbox::is_put_off(connection, partition.topic, partition.partition);
  const auto started_at = inbox::started_at(connection, name_of(entry));
  const config::StartAt start = was_postponed ? start_for_postponed(entry.start, started_at) : beginning;
  Resolved resolved;
  const auto problem = resolve(connection, clients, shard, partition.topic, start, on_progress, resolved);
  if (problem) return not_now(*problem);
  const auto is_this = [&](const inbox::FirstPosition& position) { return position.partition == partition.partition; };
  const auto found = std::find_if(resolved.positions.begin(), resolved.positions.end(), is_this);
  const bool is_known = found != resolved.positions.end() && found->next_offset;
  drop_unknown(resolved.positions);
  // The topic's other partitions without a position may not be postponed partitions.
  if (was_postponed) {
    std::erase_if(resolved.positions, [&](const auto& other) { return other.partition != partition.partition; });
    std::erase_if(resolved.read_before, [&](const auto& other) { return other.partition != partition; });
  }
  if (inbox::write_first_positions(connection, resolved.positions) > 0) {
    report(resolved, log);
    const auto oldest = inbox::find_position(connection, partition.topic, shard.index);
    const bool has_records = oldest && !oldest->is_beginning;  // not so if the topic itself is new
    if (has_records && !was_postponed) log.warn("consumer.partitions_added", {{"topic", partition.topic}});
  }
  if (!is_known && !resolved.unanswered.empty()) return not_now(resolved.unanswered.front());
  return std::nullopt;
}

}  // namespace inboxd::consumer
