#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "consumer/clients.hpp"
#include "consumer/topics.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"
#include "kafka/handle.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::consumer {

/// Called between two questions to the brokers, which may take long together: a sign of life.
using Moved = std::function<void()>;

/// Where a partition begins of which the database knows nothing.
struct FirstOffset {
  std::int64_t offset = 0;
  /// The group has read it before, so that was into a database of which this one knows nothing (it was restored to
  /// before the first start, or is another one): `start` would pass over what came since.
  bool was_read_before = false;
};
/// `wanted` is where `start` is in the log now. It does not pass over what the group has not read, as the reset policy
/// of any Kafka client applies only where the group has no offset. Where that is not in the log any more, the log's
/// beginning: what it has lost is lost, or it is another log, of which nothing has been read.
FirstOffset first_offset_for(config::StartAt::Kind start, const kafka::LogBounds& log, std::int64_t wanted,
                             std::optional<std::int64_t> group_offset);

/// What `start` means for a partition that had no leader at the first start. The end of then can be told only by the
/// times that producers gave, and what they could not send meanwhile is older than the start and yet behind that end:
/// so some ten minutes more, rather some of before than none of that.
config::StartAt start_of_put_off(const config::StartAt& start, std::optional<event::Microseconds> first_start);

/// The brokers did not say what is to be known; worth another try.
struct NotNow {
  std::string reason;
  bool is_silence = false;                     ///< they did not answer at all
};

/// The first start of an entry of the configuration: one moment, at which all partitions of all its topics that exist
/// get their first position by its `start`. Those without a leader are noted and put off. What appears later begins at
/// its beginning, also where no topic existed; but one that may not be seen yet has its first start once it may. Does
/// nothing where it has been. An error in the log where the group has read a partition before. Blocks on brokers and
/// database; throws what inbox::describe reads.
std::optional<NotNow> start_entry(inbox::Connection& connection, const Clients& clients, const Topics& topics,
                                  const config::Topic& entry, const Moved& moved, base::Logger& log);

/// The first position of a partition, after start_entry has been: where it was put off, as of that moment. At the
/// beginning otherwise, for all partitions of its topic that have none.
std::optional<NotNow> start_later(inbox::Connection& connection, const Clients& clients,
                                  const kafka::TopicPartition& partition, const config::Topic& entry,
                                  const Moved& moved, base::Logger& log);

}  // namespace inboxd::consumer
