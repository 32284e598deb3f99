#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/logger.hpp"
#include "config/topics.hpp"
#include "consumer/first_positions.hpp"
#include "event/offset_set.hpp"
#include "inbox/connection.hpp"
#include "inbox/shard_position.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// Read the shard from `position.next_offset`, as records of `topic`. If it was halted, its reason stays until
/// something was read.
struct Ready {
  inbox::ShardPosition position;
  const config::Topic* topic = nullptr;
};
/// The shard is halted; the reason is in table shard and in the log.
struct HaltedShard {
  std::string reason;
  /// Nothing if it has no position, or a position in another log than the partition's present log.
  std::optional<inbox::ShardPosition> position = std::nullopt;
};
using LookUpResult = std::variant<Ready, HaltedShard, NotNow>;

/// Finds the position of a partition in the database; writes it first, for all partitions of the topic, if there is
/// none. Halts the shard if the topic was created again, and resumes it once the topic has the shard's own id again.
/// `read_as` is the topic's id as the member knows it, or empty: the brokers that are asked may know an older id.
/// Blocks on brokers and database; throws database errors (inbox::describe).
LookUpResult look_up(inbox::Connection& connection, const kafka::Clients& clients, const config::Topics& topics,
                     const kafka::TopicPartition& partition, const std::string& read_as, const OnProgress& on_progress,
                     base::Logger& log);

/// Committed with each offset: the shard and the epoch of its position. So an offset that the group has from before a
/// seek differs from an offset whose position was lost in a restore.
std::string commit_metadata(const inbox::ShardPosition& position);
/// Whether the position began after the group committed its offset, so that a lower position is on purpose: nothing
/// was stored in the position's epoch, and the metadata is of an earlier epoch, of another shard or not ours. Pure.
bool began_after_commit(const inbox::ShardPosition& position, const std::string& metadata);

/// Compares the group's committed offset with the database. The offset only ever follows the database, so a database
/// whose position is lower has lost commits: an error in the log. Not thread-safe.
class GroupOffsetCheck final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds answer_within{1'000};
  /// The pause after a coordinator that did not answer, so that partitions with healthy leaders do not wait for it.
  static constexpr std::chrono::seconds retry_after{60};

  /// False also if the coordinator does not answer. Blocks for the answer.
  bool is_ahead(rd_kafka_t* member, const kafka::TopicPartition& partition, const inbox::ShardPosition& position,
                base::Logger& log);

 private:
  Clock::time_point ask_at_{};
};

/// Why a partition cannot be read on, and the lost offsets if there is a gap.
struct ReadFailure {
  std::string reason;
  std::optional<event::OffsetRange> gap;
};
/// Finds the reason after the broker refused the position: records deleted before they were read, a truncated log, or
/// no known reason. `error` is the client library's text, which knows from leader epochs of a truncated log that has
/// grown past the position since. Asks by the member, which has just heard from the partition's leader.
ReadFailure diagnose(rd_kafka_t* member, const kafka::TopicPartition& partition, std::int64_t next_offset,
                     const std::string& error);

}  // namespace inboxd::consumer
