#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/logger.hpp"
#include "consumer/hand_off.hpp"
#include "event/event.hpp"
#include "event/now.hpp"
#include "inbox/connection.hpp"
#include "inbox/handler_routing.hpp"
#include "inbox/ingest.hpp"
#include "inbox/registrations.hpp"

namespace inboxd::consumer {

/// How long ingest waits for other instances to restore the registrations that the database lost. They restore them
/// within seconds of reaching it, but each may first wait for a statement on the old server.
std::chrono::milliseconds wait_for_others(std::chrono::milliseconds database_deadline);

/// Finds out whether the database lost registrations of handlers: a failover to a standby that lags, or a restore.
/// Events stored meanwhile would have no deliveries for the lost handlers.
class RollbackDetector final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Finding {
    known,         ///< the database has all known registrations
    behind,        ///< registrations are lost and have to be restored
    not_restored,  ///< other instances did not restore theirs in time: the database is taken to be right from now on
  };
  /// Registrations that the database has.
  struct Knows {
    bool ours = true;    ///< the registrations of this process
    bool others = true;  ///< all others that this process has seen in it
  };
  explicit RollbackDetector(std::chrono::milliseconds wait_for_others) : wait_for_others_{wait_for_others} {}

  Finding judge(const Knows& knows, Clock::time_point now);

 private:
  const std::chrono::milliseconds wait_for_others_;
  std::optional<Clock::time_point> behind_since_;  ///< for the registrations of others
  Clock::time_point judged_at_{};
};

/// The handlers that batches are routed by, with the version that the ingest transaction checks. A database that lost
/// commits has another version, so the next refresh finds it. Used by a single ingester, on its thread.
class KnownRouting final {
 public:
  KnownRouting(inbox::Connection& connection, inbox::Registrations& registrations,
               std::chrono::milliseconds database_deadline, base::Logger& log)
      : connection_{connection},
        registrations_{registrations},
        log_{log},
        rollback_detector_{wait_for_others(database_deadline)} {}

  /// Reads the handlers if they are not known, or if this process has registered more since. False: the database lost
  /// registrations, and nothing may be stored until they are restored; call again soon. Throws for a database fault.
  bool refresh();
  /// The handlers may have changed.
  void invalidate() { routing_.version = 0; }
  const inbox::Routing& get() const { return routing_; }

 private:
  void log_change(RollbackDetector::Finding finding);

  inbox::Connection& connection_;
  inbox::Registrations& registrations_;
  base::Logger& log_;
  RollbackDetector rollback_detector_;
  bool is_waiting_ = false;  ///< for registrations to be restored; logged once
  inbox::Routing routing_;
  std::uint64_t revision_ = 0;  ///< of the registrations that were compared
};

/// The most offsets that a run spans: views find outcomes by it (sql/README.md). `ingest.run_events` may reach it.
inline constexpr std::int64_t run_span = 10'000;

/// The runs of a handler in a batch; of a single shard, if the handler keeps order.
struct HandlerRuns {
  std::int32_t handler_id = 0;
  std::optional<std::int32_t> ordered_shard{};
  std::optional<std::int32_t> sequence{};
  std::size_t first_event = 0;          ///< no event of the batch before it is in the runs
  std::vector<inbox::PlannedRun> runs;  ///< all due (lease 0) until `lease_reserved`
  std::int64_t events = 0;              ///< that may be leased: not those that wait for their `deliver_at`
};

/// Routes the events of a batch (by shard, then offset; `shards`: all of the batch) to every handler in the database
/// that subscribes to their topic and type. A run has at most `run_events` events and `run_span` offsets. `topic_of`
/// names a shard's topic. `has_handler` is filled for each event: whether any handler subscribes to it. A handler that
/// keeps order has an entry for each shard, with or without events.
///
/// Events before their `deliver_at` have runs that are due then; but in mode sequential they are handed over like
/// others, and begin a lane. `now`: of this machine, since the database decides in the end.
std::vector<HandlerRuns> route(const std::vector<event::Event>& events, const std::vector<std::int32_t>& shards,
                               const inbox::Routing& routing,
                               const std::function<std::string_view(std::int32_t)>& topic_of, int run_events,
                               std::vector<bool>& has_handler, event::Microseconds now = event::now());

/// Leases the first runs to this process, as many events as are reserved. A run that fits only in part is split, and so
/// is a run with more events than the reservation's `run_events`.
void lease_reserved(HandlerRuns& planned, const HandOff::Reservation& reservation);

}  // namespace inboxd::consumer
