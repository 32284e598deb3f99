#pragma once
#include <atomic>
#include <chrono>
#include <optional>

#include "base/logger.hpp"
#include "base/mutex.hpp"

/// Handlers' transactions that failed: when they run again, and which transactions may hold several calls.
namespace inboxd::dispatcher {

/// Why a transaction runs again.
enum class RetryReason {
  contention,         ///< the database ended it: a serialization failure, a deadlock, a lock
  disconnected,       ///< the connection broke or could not be made
  lost_in_statement,  ///< the connection broke while a statement of the handler ran
  cut_off,            ///< this side cut the connection: the server did not end the statement at its deadline
  lost_in_commit,     ///< the connection broke at COMMIT, which runs the statements that the handler deferred
  out_of_memory,      ///< the server had too little memory
  environment,        ///< a full disk, a refused session, the daemon's own settling: no event can be the cause
};

/// The failed attempts of a transaction since the last success. Pure.
class TransactionRetry {
 public:
  using Wait = std::chrono::milliseconds;
  static constexpr Wait initial_repeat{5};

  /// Counts a failed attempt. True: each of its events must now run alone, to find the event that causes it.
  bool note(RetryReason reason);
  /// The wait before the next attempt. Not for `environment`, which waits like the daemon's services.
  Wait wait() const;
  /// The level at which to log this attempt; nullopt: not at all.
  std::optional<base::LogLevel> log_level() const;
  /// The number of attempts that failed by the environment.
  int environments() const { return environments_; }
  /// Whether an event may have broken the connection.
  bool is_event_suspected() const;

 private:
  bool is_contention() const { return reason_ == RetryReason::contention; }

  RetryReason reason_ = RetryReason::contention;
  int contentions_ = 0;
  int environments_ = 0;
  int others_ = 0;  ///< attempts that lengthen the wait
  int lost_in_statement_ = 0;
  int cut_off_ = 0;
  int lost_in_commit_ = 0;
  int out_of_memory_ = 0;
};

/// Limits the number of a handler's transactions that may hold several calls (`handlers[].group`). Each call's locks
/// are held until COMMIT, so two such transactions that lock the same rows in different orders deadlock.
///
///   all --collision or lock wait--> one --collision--> none
///   none --after the hold--> one --after the hold--> all
///
/// On level `one`, each of the other transactions holds a single call. A call that locks a single row holds nothing
/// while it waits, so no cycle can close; a statement for several events locks many rows, and may still deadlock. A
/// collision soon after level `all` was reached doubles the hold. A long lock wait proves no cycle, as the application
/// may hold the lock: it lowers the level to `one` at most, for the first hold. Any thread.
class GroupLimiter final {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    Clock::duration initial_hold = std::chrono::seconds{5};
    Clock::duration max_hold = std::chrono::minutes{5};
    Clock::duration forgiven = std::chrono::minutes{10};  ///< on level `all`; then the next hold is the first again
    Clock::duration quiet = std::chrono::minutes{10};     ///< between two warnings
  };
  /// The number of transactions that may hold several calls at a time.
  enum class Level { none, one, all };

  /// A transaction's permission, for as long as it is open.
  class Slot final {
   public:
    Slot(GroupLimiter& limiter, Level level, bool may_group)
        : limiter_{limiter}, level_{level}, may_group_{may_group} {}
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    bool may_group() const { return may_group_; }
    Level level() const { return level_; }
    /// Whether a further call may join: not after another transaction has collided.
    bool may_add_call() const { return may_group_ && limiter_.level_ == level_; }

   private:
    GroupLimiter& limiter_;
    const Level level_;
    const bool may_group_;
  };

  GroupLimiter() : GroupLimiter{Limits{}} {}
  explicit GroupLimiter(Limits limits) : limits_{limits} {}

  Slot begin(Clock::time_point now);
  /// A transaction ended in a deadlock or a serialization failure. `level`: its slot's, if it could hold several calls.
  /// True: log a warning.
  bool collided(std::optional<Level> level, Clock::time_point now);
  /// A transaction with several calls waited too long for a lock, at level `all`. True: log a warning.
  bool waited(Clock::time_point now);

 private:
  void change(Level to) REQUIRES(mutex_);
  bool must_warn(Clock::time_point now) REQUIRES(mutex_);

  const Limits limits_;
  std::atomic<Level> level_{Level::all};
  std::atomic<bool> is_taken_{false};  ///< level `one`: a transaction has the slot for several calls

  base::Mutex mutex_;
  Clock::duration hold_ GUARDED_BY(mutex_){0};
  Clock::time_point changes_at_ GUARDED_BY(mutex_){};   ///< the level rises
  Clock::time_point forgiven_at_ GUARDED_BY(mutex_){};  ///< the last collision no longer counts
  std::optional<Clock::time_point> warned_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::dispatcher
