#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/crash_report.hpp"
#include "base/wake_signal.hpp"
#include "config/settings.hpp"
#include "event/verdict.hpp"
#include "plugin/instance.hpp"
#include "queue/in_flight.hpp"
#include "settler/database_backoff.hpp"
#include "settler/settlement.hpp"
#include "settler/settler.hpp"
#include "transaction/handler_transaction.hpp"
#include "workers/transaction_retry.hpp"
#include "workers/work_batch.hpp"

namespace inboxd::dispatcher {

/// How running calls are watched.
struct WatchLimits {
  std::chrono::milliseconds grace{1'000};  ///< a call past its deadline is cancelled, and given up after this
  std::chrono::milliseconds patience{20};  ///< a worker busy for longer keeps only the events of its running call
  std::chrono::milliseconds patience_in_transactions{100};  ///< the same where calls share a transaction
  std::chrono::milliseconds late{1'500};     ///< if the last review is older, the process was stopped meanwhile
  settler::DatabaseBackoff::Limits backoff;  ///< while the database refuses the outcomes that workers record
};

/// Signals from ending threads to the dispatcher. Outlives it if a call never returns.
struct ThreadExits {
  base::WakeSignal wake;
  std::atomic<int> left{0};  ///< threads left behind in a call, or in the end of an instance
};

/// Shared by the workers of one pool. Outlives the pool if a call never returns.
struct WorkerPoolShare {
  std::shared_ptr<InFlight> in_flight;
  std::shared_ptr<plugin::Instance> instance;
  transaction::TransactionFactory transactions;  ///< empty: the handler writes in none
  base::Logger* log = nullptr;
  std::string handler;
  std::shared_ptr<ThreadExits> exits;
  std::size_t events_per_call = 1;
  int group = 1;  ///< the most calls of one transaction
  GroupLimiter group_limiter;
  std::chrono::milliseconds deadline{0};
  WatchLimits limits;
  std::atomic<bool> stop{false};       ///< no new calls
  std::atomic<bool> cancelled{false};  ///< shutdown: events that the handler does not come to are not charged
  std::atomic<int> abandoned{0};       ///< threads of this pool in calls that were given up
  int most_abandoned = 1;              ///< beyond this the handler is stopped
  std::atomic<std::chrono::steady_clock::time_point> reviewed_at{std::chrono::steady_clock::now()};
};

/// One thread that calls a handler. It takes about a millisecond of work, calls the handler with `events_per_call`
/// events at a time, and reports all verdicts to the settler at the end.
///
/// The overseer reviews it: it takes away from a slow call the events behind it, cancels the call at its deadline and
/// gives it up after the grace. A call that waits for the database is not given up: the statement ends by itself and
/// is not the call's fault. If a call returns after it was given up, its thread touches only its own members and ends.
///
/// A handler with asynchronous calls has no thread for each worker: AsyncWorkers takes its place in `run`.
///
/// A handler that needs SQL is called in transactions (transactions.cpp). The worker then does not report verdicts but
/// records them itself, as the last statement before COMMIT.
class Worker final {
 public:
  using Clock = std::chrono::steady_clock;

  Worker(std::shared_ptr<WorkerPoolShare> share, settler::Settler& settler);

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
    bool split = false;  ///< its events are in the rest, to be called one by one; false: it was charged
  };
  /// `slept`: the time for which the process was stopped before this review, which no call is charged for.
  Review review(Clock::time_point now, Clock::duration slept);
  /// Cancels a running call.
  void cancel();
  /// Gives up a running call without charging it, and cuts the transaction's connection.
  Review abandon();

 private:
  void give_up(Review& review);
  bool begin_call(std::size_t most_events);
  bool next_call();
  void call();
  void call_handler();
  Clock::duration measure_call();
  bool end_call(Clock::duration duration);
  static void describe_call(const void* worker, base::CrashLine& line);
  void report_and_return();

  // transactions.cpp: the same with a transaction around some calls.
  enum class Step { called, called_last, repeat, split, again, with_savepoints, given_up };
  enum class GroupEnd { done, repeat, split, again, nothing, given_up };
  void run_transactions();
  GroupEnd run_group(bool one_event);
  Step call_in_transaction(bool alone, bool is_first);
  bool apply_call_end(const transaction::CallEnd& end);
  /// A call's spans, which end with the transaction, and its verdicts.
  struct CallSpans {
    std::unique_ptr<plugin::PendingSpans> pending_spans;
    std::vector<event::Verdict> verdicts;
  };
  void count_uncommitted(const CallCount& count);
  GroupEnd commit(std::size_t events);
  GroupEnd undo_group(GroupEnd end, std::size_t events);
  /// A run and the part of it that a transaction settles.
  struct SettledRun {
    std::shared_ptr<settler::Run> run;
    settler::RunSettlement settlement;
  };
  static std::vector<SettledRun> settle(std::vector<settler::Report> reports);
  void note_committed(const std::vector<SettledRun>& all);
  void note_lost(const std::vector<inbox::LeaseKey>& lost);
  void put_back_all();

  // transaction_retry.cpp: sessions, and transactions that failed.
  void await_session();
  bool has_session(const TransactionRetry& retry);
  void note_retry(const std::optional<transaction::SqlError>& error, RetryReason if_lost);
  bool is_collision() const;
  bool waited_briefly() const;
  bool note_collision();
  bool wait_after(const TransactionRetry& retry);
  bool wait_about(std::chrono::milliseconds wait);
  GroupEnd charge_culprit(const TransactionRetry& suspected);
  GroupEnd charge(const transaction::SqlError& error);

  const std::shared_ptr<WorkerPoolShare> share_;
  settler::Settler& settler_;                                           ///< not touched once abandoned
  const std::unique_ptr<transaction::HandlerTransaction> transaction_;  ///< null: the handler writes in none
  plugin::Cancellation cancellation_;
  std::atomic<bool> ended_{false};

  std::mutex mutex_;  // guards the following; the thread and the overseer
  WorkBatch batch_;
  std::vector<RunSlice> lent_;  ///< of a call that was given up: the handler may still read their events
  Clock::time_point taken_;     ///< when the batch's first call began
  Clock::time_point started_;   ///< when the running call began
  Clock::time_point waited_;    ///< when it was last seen to wait for the database
  Clock::duration slept_{0};    ///< of the running call's time
  bool excused_ = false;        ///< the running call may stop uncharged: it is late for no fault of its own
  bool calling_ = false;
  bool abandoned_ = false;

  // The thread's own.
  std::vector<plugin::Delivered> delivered_;
  std::vector<event::Verdict> verdicts_;
  std::unique_ptr<plugin::PendingSpans> spans_of_call_;
  std::vector<CallSpans> pending_spans_;  ///< calls of the open transaction
  CallCount uncommitted_;  ///< its done events, and the failures since the last of them
  Clock::time_point call_began_;
  InFlight::Work work_;
  base::Histogram::Tally calls_;
  base::CrashMark crash_mark_{describe_call, this};
  transaction::SqlError retry_error_;
  RetryReason retry_reason_ = RetryReason::contention;
  settler::DatabaseBackoff backoff_;                ///< for RetryReason::environment
  std::size_t undone_events_ = 0;                   ///< of the group undone last
  int savepoint_groups_ = 0;                        ///< the number of coming groups with savepoints
  std::optional<GroupLimiter::Level> group_level_;  ///< of the last transaction, if it could hold several calls
};

}  // namespace inboxd::dispatcher
