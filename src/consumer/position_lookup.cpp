#include "consumer/position_lookup.hpp"

#include <algorithm>
#include <sstream>

#include "kafka/lookup.hpp"
#include "kafka/truncation.hpp"

namespace inboxd::consumer {
namespace {

constexpr kafka::Timeout look_up_timeout{3'000};

/// Writes the first position: by the first start of the partition's entry, or the beginning after that.
std::optional<NotNow> write_first_positions(inbox::Connection& connection, const kafka::Clients& clients,
                                            const config::Topics& topics, const kafka::TopicPartition& partition,
                                            const config::Topic& entry, const OnProgress& on_progress,
                                            base::Logger& log) {
  if (auto not_yet = start_entry(connection, clients, topics, entry, on_progress, log)) return not_yet;
  if (inbox::find_position(connection, partition.topic, partition.partition)) return std::nullopt;
  return start_later(connection, clients, topics.shard(), partition, entry, on_progress, log);
}

/// Resumes a shard that was halted for another topic id, once the brokers report its own id again: they belonged to
/// another cluster, or a broker was out of date. True if the reason was cleared.
bool resume_under_own_id(inbox::Connection& connection, inbox::ShardPosition& position,
                          const kafka::TopicPartition& partition, base::Logger& log) {
  // If the reason has changed, or an operator has accepted the new id, the next look-up finds that.
  if (!inbox::resume_shard(connection, position.shard_id, *position.halted_reason)) return false;
  log.info("consumer.topic_id_restored",
           {{"topic", partition.topic}, {"partition", partition.partition}, {"offset", position.next_offset}});
  position.halted_reason.reset();
  position.new_incarnation.reset();
  return true;
}

/// Writes the first position of a partition and returns it.
LookUpResult first_position_of(inbox::Connection& connection, const kafka::Clients& clients,
                               const config::Topics& topics, const kafka::TopicPartition& partition,
                               const config::Topic& entry, bool has_leader, const OnProgress& on_progress,
                               base::Logger& log) {
  const auto not_now = write_first_positions(connection, clients, topics, partition, entry, on_progress, log);
  if (not_now) return *not_now;
  const auto position = inbox::find_position(connection, partition.topic, partition.partition);
  if (!position && !has_leader) return HaltedShard{"the partition has no leader, so its first offset is not known yet"};
  if (!position) return NotNow{"the topic has fewer partitions than assigned"};
  log.info("consumer.first_position",
           {{"topic", partition.topic}, {"partition", partition.partition}, {"offset", position->next_offset}});
  return Ready{*position, &entry};
}

/// Halts the shard if the topic has another id. The result is the reason why the shard may not be read; nothing if it
/// may.
std::optional<HaltedShard> check_incarnation(inbox::Connection& connection, inbox::ShardPosition& position,
                                             const kafka::TopicPartition& partition, const std::string& incarnation,
                                             base::Logger& log) {
  if (incarnation.empty() || position.incarnation.empty()) return std::nullopt;
  if (incarnation == position.incarnation) {
    if (!position.new_incarnation || resume_under_own_id(connection, position, partition, log)) return std::nullopt;
    return HaltedShard{position.halted_reason.value_or("")};
  }
  const std::string reason = "the topic was deleted and created again: new id " + incarnation;
  if (position.new_incarnation != incarnation) {
    inbox::halt_recreated(connection, position.shard_id, reason, incarnation);
    log.error("consumer.halted", {{"topic", partition.topic},
                                  {"partition", partition.partition},
                                  {"reason", reason},
                                  {"remedy", "inboxd partitions accept-recreated " + partition.topic}});
  }
  return HaltedShard{reason};
}

}  // namespace

LookUpResult look_up(inbox::Connection& connection, const kafka::Clients& clients, const config::Topics& topics,
                     const kafka::TopicPartition& partition, const std::string& read_as, const OnProgress& on_progress,
                     base::Logger& log) {
  const config::Topic* const topic = topics.find(partition.topic);
  if (topic == nullptr) return NotNow{"no configured topic matches"};
  auto description = kafka::describe_topic(clients.query, partition.topic, look_up_timeout);
  auto position = inbox::find_position(connection, partition.topic, partition.partition);
  if (!position) {
    const bool has_leader = !description || !description.value().leaderless.contains(partition.partition);
    auto first = first_position_of(connection, clients, topics, partition, *topic, has_leader, on_progress, log);
    if (!std::holds_alternative<Ready>(first)) return first;
    position = std::get<Ready>(std::move(first)).position;
  }
  if (!read_as.empty() && !position->incarnation.empty() && read_as != position->incarnation) {
    // The member asks itself: it reads the topic under the id that it gets.
    description = kafka::describe_topic(clients.member, partition.topic, look_up_timeout);
    if (!description) return NotNow{description.problem().message, kafka::is_unanswered(description.problem())};
  }
  // Without an answer the position is still right, so brokers that are away do not block reading.
  const std::string incarnation = description ? description.value().incarnation : "";
  if (auto halted = check_incarnation(connection, *position, partition, incarnation, log)) return *halted;
  if (position->needs_operator()) return HaltedShard{position->halted_reason.value_or(""), position};
  // After this the group's offset follows the position.
  inbox::await_standby(connection);
  return Ready{*position, topic};
}

ReadFailure diagnose(rd_kafka_t* member, const kafka::TopicPartition& partition, std::int64_t next_offset,
                     const std::string& error) {
  const auto bounds = kafka::log_bounds(member, partition, look_up_timeout);
  if (!bounds) return {"not readable: " + bounds.problem().message, std::nullopt};
  const auto [low, high] = bounds.value();
  if (next_offset < low) {
    return {"records " + std::to_string(next_offset) + " to " + std::to_string(low - 1) +
                " were deleted from Kafka before they were read (by retention, or by DeleteRecords)",
            event::OffsetRange{next_offset, low}};
  }
  const auto truncation = kafka::read_truncation(error);
  if (truncation && !truncation->end && low < next_offset) {
    return {"the log was truncated before the position " + std::to_string(next_offset) +
                ", at an unknown offset; accepting the gap reads it again from its beginning, " + std::to_string(low) +
                ": known ids are absorbed, but records with an id by position (on_missing_id) become new events",
            event::OffsetRange{low, next_offset}};
  }
  // Even if the log has grown past the position since: the records after the truncation are others.
  const std::int64_t end = std::max(low, truncation ? truncation->end.value_or(high) : high);
  if (end < next_offset) {
    return {"the log was truncated at " + std::to_string(end) + ", before the position " + std::to_string(next_offset) +
                "; accepting the gap reads on from there",
            event::OffsetRange{end, next_offset}};
  }
  return {"not readable: the broker refused offset " + std::to_string(next_offset), std::nullopt};
}

std::string commit_metadata(const inbox::ShardPosition& position) {
  return "inboxd " + std::to_string(position.shard_id) + " " + std::to_string(position.epoch);
}

bool began_after_commit(const inbox::ShardPosition& position, const std::string& metadata) {
  if (!position.is_beginning) return false;
  std::istringstream words{metadata};
  std::string name;
  std::int64_t shard_id = 0;
  std::int64_t epoch = 0;
  if (!(words >> name >> shard_id >> epoch) || name != "inboxd" || shard_id != position.shard_id) return true;
  return epoch < position.epoch;
}

bool GroupOffsetCheck::is_ahead(rd_kafka_t* member, const kafka::TopicPartition& partition,
                                const inbox::ShardPosition& position, base::Logger& log) {
  if (Clock::now() < ask_at_) return false;
  const auto committed = kafka::committed_offset(member, partition, answer_within);
  if (!committed) {
    ask_at_ = Clock::now() + retry_after;
    log.debug(
        "consumer.group_offset_unknown",
        {{"topic", partition.topic}, {"partition", partition.partition}, {"reason", committed.problem().message}});
    return false;
  }
  if (!committed.value() || committed.value()->offset <= position.next_offset) return false;
  if (began_after_commit(position, committed.value()->metadata)) return true;
  log.error("consumer.position_behind_group", {{"topic", partition.topic},
                                               {"partition", partition.partition},
                                               {"position", position.next_offset},
                                               {"group_offset", committed.value()->offset}});
  return true;
}

}  // namespace inboxd::consumer
