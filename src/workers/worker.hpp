#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/crash_report.hpp"
#include "base/mutex.hpp"
#include "base/wake_signal.hpp"
#include "config/settings.hpp"
#include "event/verdict.hpp"
#include "plugin/instance.hpp"
#include "queue/in_flight.hpp"
#include "settler/database_backoff.hpp"
#include "settler/settler.hpp"
#include "transaction/handler_transaction.hpp"
#include "workers/transaction_retry.hpp"
#include "workers/work_batch.hpp"

namespace inboxd::dispatcher {

/// How running calls are watched.
struct WatchLimits {
  std::chrono::milliseconds grace{1'000};  ///< a call past its deadline is cancelled, and given up after this
  std::chrono::milliseconds patience{20};  ///< a worker busy for longer keeps only the events of its running call
  std::chrono::milliseconds patience_in_transactions{100};  ///< the patience where calls share a transaction
  std::chrono::milliseconds late{1'500};     ///< if the last review is older, the process was stopped meanwhile
  settler::DatabaseBackoff::Limits backoff;  ///< while the database refuses the outcomes that workers record
};

/// Signals from ending threads to the dispatcher. Outlives it if a call never returns.
struct ThreadExits {
  base::WakeSignal wake;
  std::atomic<int> left{0};  ///< threads left running in a call, or in the end of an instance
};

/// Shared by the workers of a pool. Outlives the pool if a call never returns.
struct WorkerPoolShare {
  std::shared_ptr<InFlight> in_flight;
  std::shared_ptr<plugin::Instance> instance;
  transaction::TransactionFactory transactions;  ///< empty: the handler writes in none
  base::Logger* log = nullptr;
  std::string handler;
  std::shared_ptr<ThreadExits> exits;
  std::size_t events_per_call = 1;
  int group = 1;  ///< the most calls of a transaction
  GroupLimiter group_limiter;
  std::chrono::milliseconds deadline{0};
  WatchLimits limits;
  std::atomic<bool> stop{false};       ///< no new calls
  std::atomic<bool> cancelled{false};  ///< shutdown: events that the handler does not come to are not charged
  std::atomic<int> abandoned{0};       ///< threads of this pool in calls that were given up
  int max_abandoned = 1;               ///< beyond this the handler is stopped
  std::atomic<std::chrono::steady_clock::time_point> reviewed_at{std::chrono::steady_clock::now()};
};

/// A thread that calls a handler. It takes about a millisecond of work, calls the handler with `events_per_call` events
/// at a time, and reports all verdicts to the settler at the end.
///
/// The overseer reviews it: it takes away the later events of a slow call, cancels the call at its deadline and gives
/// it up after the grace. A call that waits for the database is not given up: the statement ends by itself and is not
/// the call's fault. If a call returns after it was given up, its thread touches only its own members and ends.
///
/// A handler with asynchronous calls has no thread for each worker: AsyncWorkers takes its place in `run`.
///
/// TransactionalWorker calls a handler that needs SQL.
class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  /// Of the running call:
  ///
  ///   idle <--> calling <--> waiting_for_database --> idle
  ///                |                |
  ///                `--> abandoned <-'   given up; its thread touches only its own members from then on
  enum class CallState { idle, calling, waiting_for_database, abandoned };

  Worker(std::shared_ptr<WorkerPoolShare> share, settler::Settler& settler);
  virtual ~Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The thread's body, until `stop` or until given up (true).
  bool run();
  bool has_ended() const { return ended_; }

  // The steps of `run`, for AsyncWorkers.
  /// Takes on events; false if none of them is to be called.
  bool begin(InFlight::Taken taken);
  /// Begins the next call; false if there is none left and the verdicts are reported. `done`: as Instance::start.
  bool start_call(plugin::Instance::Done done);
  /// Ends the call; false if it was given up meanwhile: then only `end` is left to do.
  bool finish_call(std::vector<event::Verdict> verdicts);
  /// What it did since the last time.
  InFlight::Work take_work() { return std::exchange(work_, {}); }
  bool is_abandoned();
  /// Its last function; whether a call was given up.
  bool end();

  /// The result of a review; the overseer acts on it without the worker's lock.
  struct Review {
    std::vector<settler::Report> reports;
    std::vector<RunSlice> rest;  ///< for other workers
    Pace::Running running;
    CallCount count{};                       ///< of a call that was given up and charged
    bool abandoned = false;                  ///< the call was given up: the thread is lost
    std::optional<std::string> paused_by{};  ///< WorkBatch::paused_by
    std::optional<RunSlice> call{};  ///< the call that was given up: its first events
    bool split = false;  ///< its events are in the rest, to be called individually; false: it was charged
  };
  /// `slept`: the time for which the process was stopped before this review, which no call is charged for.
  Review review(Clock::time_point now, Clock::duration slept);
  /// Cancels a running call.
  void cancel();
  /// Gives up a running call without charging it, and cuts the transaction's connection.
  Review abandon();

 protected:
  bool begin_call(std::size_t max_events);
  void call_handler();
  Clock::duration measure_call();
  bool end_call(Clock::duration duration);
  void change(CallState to) REQUIRES(mutex_);
  bool is_given_up() const REQUIRES(mutex_) { return state_ == CallState::abandoned; }
  bool is_in_call() const REQUIRES(mutex_) {
    return state_ == CallState::calling || state_ == CallState::waiting_for_database;
  }

 private:
  // Where calls in transactions differ.
  /// Before it takes events.
  virtual void prepare() {}
  /// Calls the handler with the events of the batch.
  virtual void run_batch();
  virtual std::vector<event::Verdict> handle(Clock::time_point deadline);
  virtual void called(const CallCount& count) { share_->in_flight->called(count); }
  virtual bool is_waiting_for_database() { return false; }
  /// Finished calls are undone together with a call that is given up, and reported by the worker itself.
  virtual bool shares_transactions() const { return false; }
  /// Cuts the connection of a call that is given up.
  virtual void cut() {}

  static bool is_allowed(CallState from, CallState to);
  void give_up(Review& review) REQUIRES(mutex_);
  bool next_call();
  static void describe_call(const void* worker, base::CrashLine& line);
  void report_and_return();

 protected:
  const std::shared_ptr<WorkerPoolShare> share_;
  settler::Settler& settler_;  ///< not touched once abandoned
  plugin::Cancellation cancellation_;
  std::atomic<bool> ended_{false};

  base::Mutex mutex_;
  WorkBatch batch_ GUARDED_BY(mutex_);
  /// Of a call that was given up: the handler may still read their events.
  std::vector<RunSlice> lent_ GUARDED_BY(mutex_);
  Clock::time_point taken_ GUARDED_BY(mutex_);     ///< when the batch's first call began
  Clock::time_point started_ GUARDED_BY(mutex_);   ///< when the running call began
  Clock::time_point waited_ GUARDED_BY(mutex_);    ///< when it was last seen to wait for the database
  Clock::duration slept_ GUARDED_BY(mutex_){0};    ///< of the running call's time
  /// The running call may stop uncharged: it is late for no fault of its own.
  bool excused_ GUARDED_BY(mutex_) = false;
  CallState state_ GUARDED_BY(mutex_) = CallState::idle;

  // The thread's own.
  std::vector<plugin::Delivered> delivered_;
  std::vector<event::Verdict> verdicts_;
  Clock::time_point call_began_;
  InFlight::Work work_;
  base::Histogram::Tally calls_;
  base::CrashMark crash_mark_{describe_call, this};
};

}  // namespace inboxd::dispatcher
