#include "consumer/partitions.hpp"

#include <algorithm>

#include "kafka/lookup.hpp"
#include "kafka/truncation.hpp"

namespace inboxd::consumer {
namespace {

constexpr kafka::Timeout broker_timeout{3'000};

/// First positions where a partition has none: those of the first start of its entry, or its beginning after that.
std::optional<NotNow> write_first_positions(inbox::Connection& connection, const Clients& clients, const Topics& topics,
                                            const kafka::TopicPartition& partition, const config::Topic& entry,
                                            const Moved& moved, base::Logger& log) {
  if (auto not_yet = start_entry(connection, clients, topics, entry, moved, log)) return not_yet;
  if (inbox::find_position(connection, partition.topic, partition.partition)) return std::nullopt;
  return start_later(connection, clients, partition, entry, moved, log);
}

/// A position halted because the brokers told another id, once they tell its own again: they were those of another
/// cluster, or one of them did not know better. True where it may be read; its reason is gone then.
bool goes_on_as_itself(inbox::Connection& connection, inbox::ShardPosition& position,
                       const kafka::TopicPartition& partition, base::Logger& log) {
  // Where there is another reason by now, or somebody has accepted the new id, that is found when it is asked again.
  if (!inbox::resume_shard(connection, position.shard_id, *position.halted_reason)) return false;
  log.info("consumer: the topic has its own id again; going on",
           {{"topic", partition.topic}, {"partition", partition.partition}, {"offset", position.next_offset}});
  position.halted_reason.reset();
  position.new_incarnation.reset();
  return true;
}

/// The position of a partition that had none, once it is written.
LookedUp first_position_of(inbox::Connection& connection, const Clients& clients, const Topics& topics,
                           const kafka::TopicPartition& partition, const config::Topic& entry, bool has_leader,
                           const Moved& moved, base::Logger& log) {
  const auto not_now = write_first_positions(connection, clients, topics, partition, entry, moved, log);
  if (not_now) return *not_now;
  const auto position = inbox::find_position(connection, partition.topic, partition.partition);
  if (!position && !has_leader) return Standing{"the partition has no leader that could be asked where it begins"};
  if (!position) return NotNow{"the topic has fewer partitions than assigned"};
  log.info("consumer: first position",
           {{"topic", partition.topic}, {"partition", partition.partition}, {"offset", position->next_offset}});
  return Ready{*position, &entry};
}

/// What keeps the shard from being read: that the topic has another id than the shard, which is halted then, or is not
/// known to have gone on under its own.
std::optional<Standing> check_incarnation(inbox::Connection& connection, inbox::ShardPosition& position,
                                          const kafka::TopicPartition& partition, const std::string& incarnation,
                                          base::Logger& log) {
  if (incarnation.empty() || position.incarnation.empty()) return std::nullopt;
  if (incarnation == position.incarnation) {
    if (!position.new_incarnation || goes_on_as_itself(connection, position, partition, log)) return std::nullopt;
    return Standing{position.halted_reason.value_or("")};
  }
  const std::string reason = "the topic was deleted and created again: new id " + incarnation;
  if (position.new_incarnation != incarnation) {
    inbox::halt_recreated(connection, position.shard_id, reason, incarnation);
    log.error("consumer: halted", {{"topic", partition.topic},
                                   {"partition", partition.partition},
                                   {"reason", reason},
                                   {"do", "inboxd shards accept-incarnation " + partition.topic}});
  }
  return Standing{reason};
}

}  // namespace

LookedUp look_up(inbox::Connection& connection, const Clients& clients, const Topics& topics,
                 const kafka::TopicPartition& partition, const std::string& read_as, const Moved& moved,
                 base::Logger& log) {
  const config::Topic* const topic = topics.find(partition.topic);
  if (topic == nullptr) return NotNow{"no configured topic matches"};
  auto description = kafka::describe_topic(clients.asker, partition.topic, broker_timeout);
  auto position = inbox::find_position(connection, partition.topic, partition.partition);
  if (!position) {
    const bool has_leader = !description || !description.value().leaderless.contains(partition.partition);
    auto first = first_position_of(connection, clients, topics, partition, *topic, has_leader, moved, log);
    if (!std::holds_alternative<Ready>(first)) return first;
    position = std::get<Ready>(std::move(first)).position;
  }
  if (!read_as.empty() && !position->incarnation.empty() && read_as != position->incarnation) {
    // What the member is told when it asks itself is what it reads from then on.
    description = kafka::describe_topic(clients.member, partition.topic, broker_timeout);
    if (!description) return NotNow{description.problem().message, kafka::is_silence(description.problem())};
  }
  // Without an answer the position is still right: brokers that are away must not keep us from going on.
  const std::string incarnation = description ? description.value().incarnation : "";
  if (auto standing = check_incarnation(connection, *position, partition, incarnation, log)) return *standing;
  if (position->needs_operator()) return Standing{position->halted_reason.value_or(""), position};
  // From here on the group's offset follows it.
  inbox::await_standby(connection);
  return Ready{*position, topic};
}

Break examine(rd_kafka_t* member, const kafka::TopicPartition& partition, std::int64_t next_offset,
              const std::string& said) {
  const auto bounds = kafka::log_bounds(member, partition, broker_timeout);
  if (!bounds) return {"not readable: " + bounds.problem().message, std::nullopt};
  const auto [low, high] = bounds.value();
  if (next_offset < low) {
    return {"records " + std::to_string(next_offset) + " to " + std::to_string(low - 1) +
                " are gone from Kafka (retention or deletion went past the position)",
            event::OffsetRange{next_offset, low}};
  }
  const auto truncation = kafka::read_truncation(said);
  if (truncation && !truncation->end && low < next_offset) {
    return {"the log was cut off before the position " + std::to_string(next_offset) +
                ", nobody knows where; accepting means to read it again from its beginning, " + std::to_string(low) +
                ": ids that the inbox knows are absorbed, records that get their id by position (on_missing_id) are "
                "new events",
            event::OffsetRange{low, next_offset}};
  }
  // Whatever it has grown to since: what lies behind the cut are other records.
  const std::int64_t end = std::max(low, truncation ? truncation->end.value_or(high) : high);
  if (end < next_offset) {
    return {"the log was cut off at " + std::to_string(end) + ", before the position " + std::to_string(next_offset) +
                "; accepting means to read on from there",
            event::OffsetRange{end, next_offset}};
  }
  return {"not readable: the broker refused offset " + std::to_string(next_offset), std::nullopt};
}

}  // namespace inboxd::consumer
