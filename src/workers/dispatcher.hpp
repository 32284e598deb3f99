#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/stop_signal.hpp"
#include "base/uuid.hpp"
#include "claimer/claimer.hpp"
#include "claimer/database.hpp"
#include "config/settings.hpp"
#include "consumer/hand_off.hpp"
#include "inbox/handler_registration.hpp"
#include "inbox/watchdog.hpp"
#include "plugin/instance.hpp"
#include "queue/in_flight.hpp"
#include "settler/settler.hpp"
#include "workers/worker_pool.hpp"

namespace inboxd::dispatcher {

/// A handler that this process runs.
struct HandlerSetup {
  std::int32_t handler_id = 0;
  config::Handler settings;
  std::unique_ptr<plugin::Instance> instance;
  bool paused = false;             ///< in this instance
  bool held = false;               ///< paused in the database, for all
  bool has_predecessor = false;    ///< this process has ended the leases of a process that has gone
  inbox::Registered registered{};  ///< the database's row, to restore after a rollback of the database
};

/// Runs the handlers: takes born-leased runs from ingest (HandOff), claims due deliveries, calls the handlers and
/// reports to the settler. A service with a thread for the database (claimer), a thread that reviews the calls
/// (overseer) and `concurrency` workers for each handler. Stop it before the settler, which must outlive it.
class Dispatcher final : public consumer::HandOff {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    WatchLimits watch;
    Claimer::Limits claimer;
    std::chrono::milliseconds review{25};             ///< between two reviews of the running calls
    std::chrono::milliseconds idle_review{200};       ///< the interval while nothing is in flight
    std::chrono::milliseconds cancelled_calls{500};   ///< after the shutdown's deadline, for cancelled calls to return
    std::chrono::milliseconds destroy{10'000};        ///< an instance that takes longer to end is logged
    std::chrono::milliseconds flush{5'000};           ///< at shutdown, for the settler to record finished calls
    std::chrono::milliseconds flush_overtime{2'000};  ///< that recording ends this long after the deadline at most
  };

  /// `on_published`: a handler's transaction may have left messages in the outbox. Any thread.
  Dispatcher(const config::Dispatch& settings, const config::Database& database, base::Uuid owner,
             inbox::Watchdog& watchdog, settler::Settler& settler, base::Logger& log,
             std::function<void()> on_published);
  /// `transactions`: for handlers that need SQL.
  Dispatcher(const config::Dispatch& settings, AskDatabase ask_database, settler::Settler& settler,
             base::Logger& log, Limits limits, transaction::TransactionFactory transactions = {});
  ~Dispatcher() override;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Sets the handlers. A handler that stays keeps its events in flight; its running calls end with the old instance. A
  /// removed handler releases its queued events. Waits for no plugin. Before or after `start`; not thread-safe.
  void replace_handlers(std::vector<HandlerSetup> handlers);
  /// Ends the instances of a refused configuration without waiting for them. Any thread.
  void discard(std::vector<HandlerSetup> handlers);
  /// Closes or opens a handler for one reason. Closing releases its queued events.
  void set_closed(std::int32_t handler_id, InFlight::Closed reason, bool closed);

  /// Starts the claimer, calls `before_workers`, and starts the workers: where sessions are scarce, the claimer's comes
  /// before theirs.
  void start(const std::function<void()>& before_workers = [] {});
  /// No claims and no new calls; queued events are released.
  void request_stop();
  /// Running calls may finish until the deadline and are cancelled then. Calls that do not return are left running,
  /// uncharged, and so are instances that do not end. Waits until the settler has recorded the finished calls and the
  /// rest is released, bounded by Limits and a statement's deadline.
  void join(Clock::time_point deadline);

  Reservation reserve(std::int32_t handler_id, std::int64_t events, std::size_t bytes) override;
  void hand_over(inbox::LeasedRun run, std::int64_t reserved) override;
  void release(std::int32_t handler_id, std::int64_t events) override;
  void notify_due(std::int32_t handler_id) override;
  bool lacks_room(std::int32_t handler_id, const InOrder* part, std::int64_t events, std::size_t bytes) override;
  Reservation reserve_in_order(std::int32_t handler_id, const InOrder& part, std::int64_t events,
                               std::size_t bytes) override;
  void end_in_order(std::int32_t handler_id, const InOrder& part, std::int32_t sequence, bool is_in_memory) override;
  void assigned(std::int32_t shard_id) override;
  void revoked(std::int32_t shard_id) override;

  /// The events that a handler ends in about that time, at least a call for each of its workers. Any thread.
  std::int64_t events_in(std::int32_t handler_id, std::chrono::milliseconds time) const;
  /// A back-fill made events of that handler pending. Any thread.
  void notify_fed(std::int32_t handler_id);

  /// All zero for an unknown handler.
  Stats stats(std::int32_t handler_id) const;
  /// Nothing is in flight or reserved here, and no backlog is known. Other instances may be busy.
  bool idle() const;
  /// Whether threads were left in calls or ends of instances: the objects that they use must not be destroyed.
  bool has_left_calls() const { return exits_->left > 0; }
  /// The overseer and the claimer.
  std::vector<base::Loop> loops() const;

 private:
  std::shared_ptr<InFlight> find(std::int32_t handler_id) const;
  std::vector<std::shared_ptr<InFlight>> all_in_flight() const;
  std::shared_ptr<InFlight> prepare(const HandlerSetup& handler);
  void oversee();
  void review_pools();
  std::chrono::milliseconds until_review();
  bool pools_have_ended();
  void wait_for_pools(Clock::time_point until);
  void retire(std::vector<std::unique_ptr<WorkerPool>> pools);
  void give_up_pools();
  void end_claimer(Clock::time_point deadline);

  const config::Dispatch settings_;
  settler::Settler& settler_;
  base::Logger& log_;
  const Limits limits_;
  const transaction::TransactionFactory transactions_;
  const std::shared_ptr<Budgets> budgets_;
  const std::shared_ptr<ClaimerSignals> claimer_signals_ = std::make_shared<ClaimerSignals>();
  const std::shared_ptr<ThreadExits> exits_ = std::make_shared<ThreadExits>();
  base::Heartbeat heartbeat_;  ///< the overseer's

  mutable base::SharedMutex in_flight_mutex_;  // ingest threads read
  std::map<std::int32_t, std::shared_ptr<InFlight>> in_flight_ GUARDED_BY(in_flight_mutex_);
  std::set<std::int32_t> assigned_ GUARDED_BY(in_flight_mutex_);  ///< shards that this process reads

  mutable base::Mutex pools_mutex_;
  std::map<std::int32_t, std::unique_ptr<WorkerPool>> pools_ GUARDED_BY(pools_mutex_);
  /// Replaced pools, until their calls end.
  std::vector<std::unique_ptr<WorkerPool>> leaving_ GUARDED_BY(pools_mutex_);
  bool started_ GUARDED_BY(pools_mutex_) = false;
  bool stopping_ GUARDED_BY(pools_mutex_) = false;

  InstanceReaper reaper_{exits_};
  base::StopSignal overseer_stop_;
  Claimer claimer_;
  std::thread overseer_;
};

}  // namespace inboxd::dispatcher
