#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/logger.hpp"
#include "base/result.hpp"
#include "config/topics.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"
#include "kafka/handle.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::consumer {

/// Called between two requests to the brokers, which may take long together: the caller's heartbeat.
using OnProgress = std::function<void()>;

/// The first position of a partition that the database does not know.
struct FirstOffset {
  std::int64_t offset = 0;
  /// The group has read the partition into a database that this database is not: another database, or this database
  /// before it was restored to a time before the first start. `start` would skip records that came since.
  bool was_read_before = false;
};
/// `wanted` is the offset of `start` in the log. Reading never starts after the group's committed offset. If that
/// offset is not in the log any more, reading starts at the log's beginning: the records before it are lost, or it is
/// another log, of which nothing has been read.
FirstOffset first_offset_for(config::StartAt::Kind start, const kafka::LogBounds& log, std::int64_t wanted,
                             std::optional<std::int64_t> group_offset);

/// `start` for a partition that had no leader at the first start. The end at that time can be found only by the times
/// that producers wrote. Records that they could not send meanwhile carry earlier times but lie after that end, so
/// reading starts ten minutes before: rather a few old records than a missing record.
config::StartAt start_for_postponed(const config::StartAt& start, std::optional<event::Microseconds> first_start);

/// The brokers did not give the information; worth a retry.
struct NotNow {
  std::string reason;
  bool is_unanswered = false;  ///< they did not answer at all
};

/// The first start of a topic entry of the configuration: at a single moment, all existing partitions of its topics get
/// their first position by its `start`. Partitions without a leader are postponed. Topics and partitions that appear
/// later start at their beginning; a topic that the brokers hide has its first start once it is visible. Does nothing
/// if the first start has been. Logs an error if the group has read a partition before. Blocks on brokers and database;
/// throws database errors (inbox::describe).
std::optional<NotNow> start_entry(inbox::Connection& connection, const kafka::Clients& clients,
                                  const config::Topics& topics, const config::Topic& entry,
                                  const OnProgress& on_progress, base::Logger& log);

/// The first position of a partition, after start_entry: as of the first start if the partition was postponed.
/// Otherwise the beginning, for all partitions of its topic that have no position.
std::optional<NotNow> start_later(inbox::Connection& connection, const kafka::Clients& clients,
                                  const config::ShardOf& shard, const kafka::TopicPartition& partition,
                                  const config::Topic& entry, const OnProgress& on_progress, base::Logger& log);

}  // namespace inboxd::consumer
