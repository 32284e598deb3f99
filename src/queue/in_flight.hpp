#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/histogram.hpp"
#include "base/mutex.hpp"
#include "config/settings.hpp"
#include "plugin/instance.hpp"
#include "queue/call_figures.hpp"
#include "queue/claimer_signals.hpp"
#include "queue/handler_queue.hpp"
#include "queue/missing_sessions.hpp"
#include "settler/run.hpp"
#include "transaction/body_watch.hpp"

namespace inboxd::dispatcher {

/// A handler's figures for metrics, status and tests.
struct Stats {
  std::int64_t queued = 0;     ///< events in flight that no worker has taken
  std::int64_t in_flight = 0;  ///< events, also events that are not settled yet
  std::int64_t in_flight_bytes = 0;
  std::int64_t reserved = 0;    ///< events that running ingest transactions may add
  std::int64_t target = 0;      ///< about a second of the handler's work
  double per_second = 0;        ///< with all workers busy; 0 while unknown
  std::int64_t expired = 0;     ///< events dropped before their call because the lease had expired
  std::int64_t released = 0;    ///< events released uncharged
  std::uint64_t repeated = 0;   ///< transactions repeated, uncharged
  std::uint64_t deadlines = 0;  ///< calls given up after their deadline
  int abandoned = 0;            ///< threads still in such a call
  bool backlog = false;         ///< more deliveries are due in the database
  bool paused = false;
  bool limited = false;             ///< events wait for `rate` or `max_in_flight`
  bool away = false;                ///< its service, as the handler said; until a call handles an event
  std::chrono::milliseconds away_for{0};
  MissingSessions::State missing_sessions;  ///< workers that wait for a database session
  std::string away_error;           ///< class and message
  int running_calls = 0;            ///< or whose outcomes are being reported
  std::int64_t concurrency = 0;
  std::int64_t unkeyed = 0;         ///< events without an order key, where the file does not say how these run
  transaction::BodyWatch::Seen bodies;
  bool stopped = false;             ///< too many abandoned threads
  std::size_t sequences = 0;        ///< that this process owns
  std::size_t blocked_keys = 0;     ///< of these sequences, parked keys included
  base::Histogram::Snapshot calls;  ///< seconds
};

/// A handler's events in flight: a HandlerQueue with its lock, the clock and the threads that it wakes. Ingest threads
/// hand runs over, the claimer adds claimed runs, workers take events, and the settler reports them settled. Any
/// thread; only `take` blocks. Each of its runs keeps it alive, even beyond the dispatcher.
class InFlight final : public settler::RunOwner, public std::enable_shared_from_this<InFlight> {
 public:
  using Clock = std::chrono::steady_clock;
  using Closed = Admission::Closed;
  using Taken = HandlerQueue::Taken;
  using Work = HandlerQueue::Work;

  InFlight(std::int32_t handler_id, const config::Handler& settings, std::chrono::milliseconds poll,
           std::shared_ptr<Budgets> budgets, std::shared_ptr<ClaimerSignals> claimer)
      : handler_id_{handler_id},
        claimer_{std::move(claimer)},
        queue_{handler_id, settings, poll, std::move(budgets)} {}

  /// The queue under the lock. Its changes take effect on other threads when this ends.
  class Locked final {
   public:
    explicit Locked(InFlight& in_flight) : in_flight_{in_flight}, lock_{in_flight.mutex_} {}
    ~Locked() { in_flight_.end_change(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    HandlerQueue* operator->() const { return &in_flight_.queue_; }

   private:
    InFlight& in_flight_;
    const base::Lock lock_;

   public:
    const Clock::time_point now = Clock::now();
  };
  Locked lock() { return Locked{*this}; }

  std::int32_t handler_id() const { return handler_id_; }
  std::string handler() const;
  void close(Closed reason);
  void reopen(Closed reason);
  void configure(const config::Handler& settings, plugin::Instance::Needs needs = {});

  // Ingest: see consumer::HandOff.
  consumer::HandOff::Reservation reserve(std::int64_t events, std::size_t bytes);
  void hand_over(inbox::LeasedRun run, std::int64_t reserved);
  std::int64_t events_in(std::chrono::milliseconds time) const;

  // Pauses that hold for all instances.
  void set_hold(inbox::HandlerHold::State state);
  /// Nothing but such a pause keeps it from running here.
  bool may_try() const;
  /// A verdict or a rule of the handler pauses it.
  void pause(const std::string& reason);
  /// A call has ended with these verdicts, which may blow the fuse.
  void called(const CallCount& count);
  /// The handler is paused: workers begin no further call. Without the lock.
  bool are_calls_stopped() const { return calls_stopped_; }

  // The claimer's thread: see HandlerQueue.
  std::optional<Request> next(Class of, Clock::time_point now);
  std::optional<WindowEnd> answer(const Request& request, Answer answer, const Visit& visit);
  Clock::time_point next_due(Class of, Clock::time_point now) { return lock()->next_due(of, now); }
  struct LeaseState {
    std::chrono::milliseconds length{0};  ///< as configured now
    bool is_at_stake = false;             ///< runs are in flight, which a late renewal would lose
  };
  LeaseState lease() const;
  /// A run for the queue or the settler; in a sequence with the key of each event. Without the lock: keys take a while.
  std::shared_ptr<settler::Run> make_run(inbox::LeasedRun lease);

  // Workers and their pool.

  /// The next events for a worker; waits for some. Empty once `stop` is set and `wake` was called. `workers`: the
  /// number that wait together.
  Taken take(const std::atomic<bool>& stop, Work done, int workers = 1);
  void put_back(std::vector<RunSlice> slices);
  /// Whether further events of a key wait for these outcomes, here or in a lane.
  bool awaits(const std::vector<settler::Report>& reports) const;
  void wake();
  CallFigures& figures() { return figures_; }

  // The settler.
  void settled(const settler::Run& run, std::int64_t events) override;
  void settled_in_order(const settler::Run& run, const settler::KeyEffects& effects) override;
  void lost(const settler::Run& run, std::int64_t events) override { lock()->lost(run, events); }
  void retry_at(Clock::time_point due) override { lock()->retry_at(due); }
  void recorded(std::int64_t done, std::int64_t failed, const std::string& error_class) override;
  event::Microseconds now() const override { return claimer_->clock.now(); }

  /// Nothing is in flight or reserved, and no backlog is known.
  bool idle() const;
  Stats stats() const;

 private:
  template <class Change>
  void change_hold(Change&& change);
  void end_change() REQUIRES(mutex_);
  std::vector<HandlerQueue::Loaded> load(Answer& answer);
  Taken next_work(const std::atomic<bool>& stop, const Work& done, int workers);

  const std::int32_t handler_id_;
  const std::shared_ptr<ClaimerSignals> claimer_;
  std::atomic<bool> calls_stopped_{false};
  std::atomic<bool> counts_calls_{false};        ///< towards the fuse
  std::atomic<bool> has_counted_failures_{false};
  CallFigures figures_;

  mutable base::Mutex mutex_;
  base::Condition work_;
  HandlerQueue queue_ GUARDED_BY(mutex_);
  int idle_workers_ GUARDED_BY(mutex_) = 0;
  std::uint64_t work_changes_ GUARDED_BY(mutex_) = 0;  ///< of the events that workers might take
  std::int64_t suspects_ GUARDED_BY(mutex_) = 0;       ///< its suspect runs, as reported
};

}  // namespace inboxd::dispatcher
