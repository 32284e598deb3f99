#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/repeats.hpp"
#include "base/stop_signal.hpp"
#include "config/settings.hpp"
#include "history/history.hpp"
#include "inbox/connection.hpp"
#include "inbox/handler_registration.hpp"
#include "inbox/registrations.hpp"
#include "inbox/generations.hpp"
#include "inbox/resends.hpp"
#include "inbox/unsubscribed.hpp"
#include "inbox/upkeep.hpp"
#include "maintenance/agreement.hpp"
#include "maintenance/cleanup.hpp"
#include "maintenance/feeder.hpp"
#include "maintenance/generations.hpp"
#include "maintenance/turn.hpp"
#include "operations/reading_queries.hpp"
#include "operations/status_findings.hpp"
#include "operations/status_queries.hpp"

namespace inboxd::maintenance {

/// The pause after a count of the backlog that took this long.
std::chrono::nanoseconds pause_after_count(std::chrono::nanoseconds took);

/// How long the same transaction has held back vacuum: as the server says, or else as observed here. Not thread-safe.
class VacuumHoldback final {
 public:
  using Clock = std::chrono::steady_clock;
  /// `oldest` is the current finding; 0 s if there is none.
  std::chrono::seconds age(const std::optional<inbox::OldestTransaction>& oldest, Clock::time_point now);

 private:
  std::string id_;
  Clock::time_point since_{};
};

/// Runs the periodic tasks: heartbeat in table instance, lost registrations, audit, backlog counts, back-fill, day
/// partitions, cleanup, and a warning about transactions that hold back vacuum. A single thread, a single connection,
/// small batches. Construct → start() → request_stop() → join().
class Maintenance final {
 public:
  /// The last findings in the database, for metrics.
  struct Observed {
    std::vector<operations::HandlerState> handlers;
    std::set<std::string> without_instance;    ///< handlers with pending events that no live instance runs
    std::vector<operations::UnreadSubscription> unread;
    std::vector<operations::PartitionReading> readings;
    operations::QuarantineState quarantine;
    operations::OutboxState outbox;
    std::map<std::string, std::optional<history::TopicSample::Place>> places;  ///< by topic; nullopt: unknown
    std::vector<operations::StatusFinding> findings;
    std::int64_t at_us = 0;                    ///< wall clock; 0: not counted yet
    std::int64_t answered_us = 0;              ///< of the last heartbeat stored; independent of counting
    std::int64_t days_until_s = 0;             ///< start of the first day without a partition; 0: unknown
    std::chrono::seconds pinned{0};            ///< age of a transaction that holds back vacuum; 0: none
  };

  /// For table audit.
  struct AuditEntry {
    std::string actor, operation, target;
  };

  /// The current problem of this process, in a sentence.
  using CurrentProblem = std::function<std::optional<std::string>()>;
  /// The figures of its handlers; `pending` has the last count of their pending events, by id.
  using CurrentActivity =
      std::function<std::vector<inbox::HandlerActivity>(const std::map<std::int32_t, std::int64_t>& pending)>;

  /// Shared with ingest: counts, written every second; the filters of the ledger; whether quarantine is full.
  struct Intake {
    inbox::Unsubscribed& unsubscribed;
    inbox::Resends& resends;
    inbox::LedgerFilters& filters;
    std::atomic<bool>& quarantine_is_full;
  };

  /// `registrations`: the handlers of this process, restored if the database loses them. `fed_handlers`: for `handlers
  /// backfill`.
  Maintenance(const config::Settings& settings, inbox::InstanceIdentity identity, inbox::Registrations& registrations,
              Intake intake, CurrentProblem current_problem, CurrentActivity current_activity,
              history::History& history, FedHandlers fed_handlers, inbox::Watchdog& watchdog, base::Logger& log);
  ~Maintenance();
  Maintenance(const Maintenance&) = delete;
  Maintenance& operator=(const Maintenance&) = delete;

  void start();
  void request_stop();
  void join();
  /// A handler has another id: another instance restored it as a new handler. Only a restart helps.
  bool failed() const { return failed_; }
  /// Configured handlers were retired or restored since the last call, so this process must prepare its handlers.
  bool take_stale_handlers() { return handlers_are_stale_.exchange(false); }
  /// From a reload. Any thread.
  void set_retention(const config::Settings& settings) {
    cleanup_.set_retention(settings);
    generations_.set_retention(settings);
  }
  /// Queues an entry for table audit; keeps the last hundred while the database is away. Any thread.
  void note(AuditEntry entry);
  /// Any thread.
  Observed observed() const;
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct PeriodicTask {
    void (Maintenance::*work)();
    std::chrono::seconds every;
    Clock::time_point next{};
  };

  void run();
  void run_task(PeriodicTask& task);

  void check_registrations();
  void take_orphaned_orders();
  void restore_registrations(const std::vector<inbox::Registered>& registered);
  void check_retired(const std::vector<inbox::Registered>& running);
  /// Every five seconds, and at once with a new problem, or when a service goes away or comes back.
  void send_heartbeat();
  void write_audit_entries();
  void write_counts();
  /// Adds other instances to the history of the day.
  void read_histories();
  /// Every so often, see pause_after_count; also after a failure.
  void observe_backlog();
  void count_backlog();
  void backfill();
  void feed_backfills() { feeder_.feed(); }
  void notice_added() { feeder_.notice_added(); }
  void make_partitions();
  void observe_days();
  void purge() { cleanup_.purge(); }
  void trim_events() { cleanup_.trim_events(); }
  void turn_generations() { generations_.turn_over(); }
  void load_filters() { generations_.load_filters(); }
  void trim_positions() { cleanup_.trim_positions(); }
  void check_limits();
  void check_vacuum();
  void repair_order() { agreement_.repair_order(); }
  void check_predecessors() { agreement_.check_predecessors(); }
  void observe_readings();

  const inbox::InstanceIdentity identity_;
  const std::string consumer_group_;
  inbox::Registrations& registrations_;
  const Intake intake_;
  const CurrentProblem current_problem_;
  const CurrentActivity current_activity_;
  history::History& history_;
  base::Logger& log_;
  base::Heartbeat heartbeat_;
  base::StopSignal stop_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> handlers_are_stale_{false};

  mutable base::Mutex mutex_;
  Observed observed_ GUARDED_BY(mutex_);
  std::deque<AuditEntry> audit_entries_ GUARDED_BY(mutex_);

  // Used by the thread alone.
  base::Repeats repeats_;
  inbox::Connection connection_;
  Turn turn_{heartbeat_, stop_};
  Cleanup cleanup_;
  Generations generations_;
  Feeder feeder_;
  Agreement agreement_;
  int checked_session_ = 0;                            ///< of the last check_registrations()
  std::optional<std::set<std::int32_t>> retired_;      ///< as last reported stale
  Clock::time_point next_stale_report_{};              ///< until then the main thread has time to follow `retired_`
  Clock::time_point next_heartbeat_{};
  std::optional<std::string> reported_problem_;        ///< with the last heartbeat
  std::set<std::int32_t> reported_away_;               ///< with the last heartbeat: handlers whose service is away
  Clock::time_point next_count_{};
  inbox::Backfilled backfilled_;                       ///< not logged yet
  VacuumHoldback vacuum_holdback_;
  std::thread thread_;
};

}  // namespace inboxd::maintenance
