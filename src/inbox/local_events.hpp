#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "event/event.hpp"
#include "inbox/connection.hpp"
#include "inbox/outbox.hpp"

struct pg_result;

namespace inboxd::inbox {

/// A topic with `source: local`.
struct LocalTopic {
  std::string topic;
  std::int64_t payload_limit = 0;
  std::chrono::milliseconds deliver_at_limit{0};
  bool id_decides = false;  ///< another payload under a known id of the topic is a repetition, too
};
/// A topic that was read from Kafka, if there is one: its name cannot be a local topic's, too.
std::optional<std::string> find_local_clash(Connection& connection, const std::vector<LocalTopic>& topics);
/// Declares the topics, so that events can be enqueued. Topics that are declared stay.
void declare_local(Connection& connection, const std::vector<LocalTopic>& topics);

/// The position of a local topic's shard.
struct LocalPosition {
  std::string topic;
  std::int32_t shard_id = 0;
  std::int32_t epoch = 0;
  std::int64_t next_offset = 0;
};
/// Of all declared topics. Read before the events that are stored at these positions.
std::vector<LocalPosition> local_positions(Connection& connection);

/// The right to read enqueued events.
struct LocalLease {
  base::Uuid owner;
  std::int64_t fence = 0;
};
/// Takes the lease if it is free. Returns the number below which no event is left; nullopt: another process has it.
std::optional<std::int64_t> take_local(Connection& connection, const LocalLease& lease,
                                       std::chrono::milliseconds length);
/// `checks`: look for events below the low-water mark.
Renewal renew_local(Connection& connection, const LocalLease& lease, std::chrono::milliseconds length,
                    std::int64_t low_water, bool checks);
void release_local(Connection& connection, const LocalLease& lease, std::int64_t low_water);

/// Enqueued events as they came from the server.
class LocalRows final {
 public:
  explicit LocalRows(std::shared_ptr<pg_result> result) : result_{std::move(result)} {}
  int size() const;
  std::int64_t id(int row) const;
  /// Views into the rows. Without offset and digest.
  event::Event event(int row) const;

 private:
  std::shared_ptr<pg_result> result_;
};
/// Whether there is an event above that number.
bool has_local_above(Connection& connection, std::int64_t number);
/// The events in these ranges and above `after`, in order of number.
LocalRows read_local(Connection& connection, const std::vector<IdRange>& ranges, std::int64_t after, OutboxBite bite);

/// The id that the next transaction gets, and the oldest transaction that runs.
struct RunningTransactions {
  std::int64_t next = 0, oldest = 0;
};
RunningTransactions transactions_now(Connection& connection);

/// The numbers of the first and the last event that wait.
struct LocalNumbers {
  std::optional<std::int64_t> first, last;
};
LocalNumbers local_numbers(Connection& connection);

/// The events above that number that wait, by shard; counted up to `most` in total.
std::map<std::int32_t, std::int64_t> local_waiting(Connection& connection, std::int64_t above, std::int64_t most);

}  // namespace inboxd::inbox
