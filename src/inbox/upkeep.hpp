#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"
#include "inbox/handler_activity.hpp"

namespace inboxd::inbox {

/// Creates day partitions from yesterday to `days_ahead`; returns the number created.
int make_partitions(Connection& connection, int days_ahead);

/// The first day for which some table has no partition: its start in seconds since 1970.
std::int64_t days_made_until(Connection& connection);

/// Drops a day partition of table `event`, `outcome` or `failure` that is older than `keep`; returns its name. Keeps
/// its pending events, and the whole day if they are many. Blocks users of the table for less than a second; if that is
/// not enough, it throws and changes nothing.
std::optional<std::string> drop_partition(Connection& connection, const std::string& table,
                                          std::chrono::milliseconds keep);

/// The oldest day of events beyond its retention that is still needed, and the handlers that need it.
struct KeptDay {
  std::string partition;
  std::string handlers;
};
std::optional<KeptDay> find_kept_day(Connection& connection, std::chrono::milliseconds keep);

/// A shard, and until when its kept events were received: pending events of dropped days.
struct ShardToTrim {
  std::int32_t shard_id = 0;
  std::string topic;
  event::Microseconds now = 0;  ///< by the database's clock
  std::optional<event::Microseconds> newest_kept;
};
std::vector<ShardToTrim> find_shards_to_trim(Connection& connection);

/// Deletes the events of a shard that were received before `before` and are not needed, of its next `limit` from offset
/// `first` on.
struct EventsTrimmed {
  std::int64_t rows = 0;
  std::optional<std::int64_t> next;  ///< the offset to continue at; nullopt: there is no more
};
EventsTrimmed trim_events(Connection& connection, std::int32_t shard_id, event::Microseconds before,
                          std::int64_t first, int limit);

/// Delete at most `limit` expired rows; return the number deleted.
std::int64_t trim_positions(Connection& connection, int limit);
std::int64_t trim_old_rows(Connection& connection, std::optional<std::chrono::milliseconds> keep_dead_letters,
                           std::optional<std::chrono::milliseconds> keep_quarantine, int limit);

/// This process, as `status` shows it.
struct InstanceIdentity {
  base::Uuid instance_id;
  std::string host;
  int process_id = 0;
  std::vector<std::string> topics = {};  ///< names and patterns (^…) of the topics it reads
  std::string boot = {};                 ///< where it shows that it lives (base::this_boot); empty: nowhere
  std::string member = {};               ///< its fixed member of its group; empty: none
};
/// `problem`: a sentence about work that fails at present. `handlers`: the handlers that it runs. `history`: its last
/// hour, as history::pack() writes it; nullopt: as before.
void instance_heartbeat(Connection& connection, const InstanceIdentity& identity, bool stopped,
                        const std::optional<std::string>& problem = std::nullopt,
                        const std::vector<std::int32_t>& handlers = {},
                        const std::vector<HandlerActivity>& activity = {},
                        const std::optional<std::string>& history = std::nullopt);

/// The oldest transaction, which limits vacuum, and its owner.
struct OldestTransaction {
  std::string holder;  ///< `session`, `prepared transaction`, `replication slot`
  int process_id = 0;  ///< 0: none
  std::string name;    ///< of the application, the prepared transaction or the slot
  std::string user;
  std::string id;                           ///< of the transaction: unchanged while it stays the oldest
  std::optional<std::chrono::seconds> age;  ///< if this role may see it
};
std::optional<OldestTransaction> find_oldest_transaction(Connection& connection);

/// Pending events of these handlers plus ranges left to back-fill. 0: everything is settled.
std::int64_t count_pending(Connection& connection, const std::vector<std::string>& handlers);

/// Closes the windows of batch handlers, of these, whose events wait.
void close_idle_windows(Connection& connection, const std::vector<std::string>& handlers);

/// The result of a chunk of back-fill.
struct Backfilled {
  std::int64_t events = 0;        ///< that became deliveries; 0 in some chunks
  std::int64_t dead_letters = 0;  ///< deleted: the back-fill delivers their events
};
/// Turns the next stored events of a back-fill into deliveries. nullopt: no back-fill is left.
std::optional<Backfilled> backfill_bite(Connection& connection, int max_events);

/// When commands last added deliveries, by handler. Handlers without such a time are left out.
std::map<std::int32_t, event::Microseconds> handlers_fed(Connection& connection,
                                                         const std::vector<std::int32_t>& handlers);

/// The result of a bite of a requested back-fill (`handlers backfill`).
struct Fed {
  enum class State { none, waits, fed, ended };
  State state = State::none;              ///< none: no request of these handlers runs
  std::optional<std::int32_t> handler_id; ///< that was fed, or whose request has ended
  std::int64_t read = 0;                  ///< events that were passed
  std::int64_t events = 0;                ///< of these, that became deliveries
  std::int64_t dead_letters = 0;          ///< of these events; deleted
  std::chrono::milliseconds wait{0};      ///< until the next token of its rate
};
/// `bites`: the most events for each of the handlers.
Fed feed_backfill(Connection& connection, const std::vector<std::int32_t>& handlers,
                  const std::vector<std::int32_t>& bites);

}  // namespace inboxd::inbox
