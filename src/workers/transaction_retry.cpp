#include "workers/transaction_retry.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include "inbox/database_error.hpp"
#include "workers/worker.hpp"

namespace inboxd::dispatcher {
namespace {

using std::chrono::milliseconds;

/// Attempts before the events are charged. Contention is rarely an event's fault.
constexpr int most_contentions = 30;
/// A statement of the handler may have crashed the server. At COMMIT the connection may as well have been dead before.
constexpr int most_lost_in_statement = 3;
constexpr int most_lost_in_commit = 5;
/// The server hangs, which no event may be charged for, or the statement cannot be cancelled. The next attempt waits
/// until the server has ended the last one.
constexpr int most_cut_off = 10;
/// Other sessions may have taken the memory, or this transaction needs so much.
constexpr int most_out_of_memory = 5;
constexpr TransactionRetry::Wait first_repeat{5};
constexpr TransactionRetry::Wait first_reconnect{100};
constexpr int most_doublings = 5;

constexpr milliseconds last_wait{5'000};
constexpr milliseconds wait_step{20};

/// How long a worker keeps an event that may have broken its connection, while no new one can be made: until the server
/// has recovered from a crash.
constexpr std::chrono::seconds longest_recovery{60};

/// Another transaction is the cause, and the next attempt may succeed.
bool is_contention(std::string_view sqlstate) {
  return sqlstate == "40001" || sqlstate == "40P01" || sqlstate == "55P03";
}

/// The next attempt makes a stale plan again, or writes a text in ASCII that the database's encoding lacks.
bool is_corrected(std::string_view sqlstate) {
  return sqlstate == "0A000" || sqlstate.starts_with("42") || inbox::fault_of(sqlstate) == inbox::Fault::poison;
}

/// An unknown state is the environment's: no event is charged for it.
RetryReason retry_reason_of(const transaction::SqlError& error, RetryReason if_lost) {
  if (error.sqlstate == transaction::lost_connection) return if_lost;
  if (error.sqlstate == transaction::out_of_memory) return RetryReason::out_of_memory;
  if (is_contention(error.sqlstate)) return RetryReason::contention;
  const bool is_session_lost = inbox::fault_of(error.sqlstate) == inbox::Fault::reconnect;
  return is_session_lost ? RetryReason::disconnected : RetryReason::environment;
}

}  // namespace

// ---- attempts

bool TransactionRetry::note(RetryReason reason) {
  reason_ = reason;
  if (is_contention()) return ++contentions_ > most_contentions;
  if (reason == RetryReason::environment) {
    ++environments_;
    return false;
  }
  if (reason == RetryReason::cut_off) return ++cut_off_ >= most_cut_off;  // it has waited for its deadline already
  ++others_;
  switch (reason) {
    case RetryReason::lost_in_statement:
      return ++lost_in_statement_ >= most_lost_in_statement;
    case RetryReason::lost_in_commit:
      return ++lost_in_commit_ >= most_lost_in_commit;
    case RetryReason::out_of_memory:
      return ++out_of_memory_ > most_out_of_memory;
    default:
      return false;
  }
}

/// Short after contention; doubling after a lost connection.
TransactionRetry::Wait TransactionRetry::wait() const {
  if (is_contention()) return first_repeat * std::max(contentions_, 1);
  return first_reconnect * (1 << std::min(std::max(others_ - 1, 0), most_doublings));
}

/// The first contention, and each attempt that doubles the wait.
std::optional<base::LogLevel> TransactionRetry::log_level() const {
  if (is_contention()) return contentions_ <= 1 ? std::optional{base::LogLevel::debug} : std::nullopt;
  return others_ <= most_doublings + 1 ? std::optional{base::LogLevel::warn} : std::nullopt;
}

bool TransactionRetry::is_event_suspected() const { return lost_in_statement_ + lost_in_commit_ + cut_off_ > 0; }

// ---- groups of calls

GroupLimiter::Slot::~Slot() {
  if (may_group_ && level_ == Level::one) limiter_.is_taken_ = false;
}

GroupLimiter::Slot GroupLimiter::begin(Clock::time_point now) {
  if (level_ == Level::all) return {*this, Level::all, true};
  const std::lock_guard lock{mutex_};
  if (level_ != Level::all && now >= changes_at_) {
    level_ = level_ == Level::none ? Level::one : Level::all;
    changes_at_ = now + hold_;
  }
  const Level level = level_;
  return {*this, level, level == Level::all || (level == Level::one && !is_taken_.exchange(true))};
}

bool GroupLimiter::collided(std::optional<Level> level, Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  if (level && *level == level_) {  // otherwise another worker has lowered the level
    const bool is_forgiven = now >= forgiven_at_;
    hold_ = is_forgiven ? limits_.first_hold : std::min(hold_ * 2, limits_.longest_hold);
    changes_at_ = now + hold_;
    level_ = level_ == Level::all ? Level::one : Level::none;
    forgiven_at_ = changes_at_ + (level_ == Level::none ? hold_ : Clock::duration{0}) + limits_.forgiven;
  }
  return must_warn(now);
}

bool GroupLimiter::waited(Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  if (level_ == Level::all) {
    level_ = Level::one;
    changes_at_ = now + limits_.first_hold;
  }
  return must_warn(now);
}

bool GroupLimiter::must_warn(Clock::time_point now) {
  if (warned_ && now - *warned_ < limits_.quiet) return false;
  warned_ = now;
  return true;
}

// ---- a worker's session

/// Waits for a session without events, which other workers run meanwhile.
void Worker::await_session() {
  auto failure = transaction_->open();
  if (!failure) return;
  share_->in_flight->lock()->worked(take_work());
  const MissingSessions::Worker missing{share_->in_flight->figures().missing_sessions};
  while (failure && !share_->stop) {
    missing.note(failure->message);
    wait_about(backoff_.failed(*failure, Clock::now()));
    failure = transaction_->open();
  }
  if (!failure) backoff_.worked();
}

/// Whether the next transaction has a session. Without one the events go back, except of a transaction whose events may
/// have broken the last session: the count of that is here.
bool Worker::has_session(const TransactionRetry& retry) {
  const auto until = Clock::now() + (retry.is_event_suspected() ? longest_recovery : std::chrono::seconds{0});
  while (const auto failure = transaction_->open()) {
    if (Clock::now() >= until || !wait_about(backoff_.failed(*failure, Clock::now()))) return false;
  }
  return true;
}

// ---- a worker's failed transactions

void Worker::note_retry(const std::optional<transaction::SqlError>& error, RetryReason if_lost) {
  retry_error_ = error.value_or(transaction::error_with(transaction::lost_connection, ""));
  retry_reason_ = retry_reason_of(retry_error_, if_lost);
}

/// Two transactions wanted the same locks: a deadlock, a serialization failure, or a lock wait of a transaction that
/// shares calls and so waits only briefly. A lock wait of the usual length is no collision.
bool Worker::is_collision() const {
  const std::string& state = retry_error_.sqlstate;
  return retry_reason_ == RetryReason::contention && (state == "40P01" || state == "40001" || waited_briefly());
}

bool Worker::waited_briefly() const {
  return group_level_ == GroupLimiter::Level::all && retry_error_.sqlstate == "55P03";
}

/// True if the transaction shared calls: they run again at once, on the lower level.
bool Worker::note_collision() {
  const base::Logger::Facts facts{
      {"handler", share_->handler}, {"sqlstate", retry_error_.sqlstate}, {"error", retry_error_.message}};
  const bool waited = waited_briefly();
  const auto now = Clock::now();
  const bool must_warn = waited ? share_->group_limiter.waited(now) : share_->group_limiter.collided(group_level_, now);
  if (must_warn && waited) {
    share_->log->warn("dispatcher.shared_lock_timeout", facts);
  } else if (must_warn) {
    share_->log->warn("dispatcher.transaction_collided", facts);
  }
  if (!group_level_) return false;
  if (!must_warn) share_->log->debug("dispatcher.collision_retried", facts);
  ++share_->in_flight->figures().repeated;
  return true;
}

/// Waits before the next attempt; false if the daemon stops meanwhile.
bool Worker::wait_after(const TransactionRetry& retry) {
  ++share_->in_flight->figures().repeated;
  if (retry_reason_ == RetryReason::environment) {
    if (retry.environments() == 1 && is_corrected(retry_error_.sqlstate)) return wait_about(first_repeat);
    const inbox::DatabaseFailure failure{inbox::fault_of(retry_error_.sqlstate), retry_error_.sqlstate,
                                         retry_error_.message};
    return wait_about(backoff_.failed(failure, Clock::now()));
  }
  if (const auto level = retry.log_level()) {
    const base::Logger::Facts facts{
        {"handler", share_->handler}, {"sqlstate", retry_error_.sqlstate}, {"error", retry_error_.message}};
    if (level == base::LogLevel::warn) {
      share_->log->warn("dispatcher.transaction_retried", facts);
    } else {
      share_->log->debug("dispatcher.contention_retried", facts);
    }
  }
  return wait_about(retry.wait());
}

/// Waits with jitter; false if the daemon stops meanwhile.
bool Worker::wait_about(milliseconds wait) {
  const auto jitter = std::chrono::duration_cast<milliseconds>(wait * settler::random01());
  const auto until = Clock::now() + std::min(wait + jitter, last_wait);
  while (Clock::now() < until) {
    if (share_->stop) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(wait_step, until - Clock::now()));
  }
  return !share_->stop;
}

/// Charges the event that ran alone and failed. Recording that may have to wait too: the event may have crashed the
/// server.
Worker::GroupEnd Worker::charge_culprit(const TransactionRetry& suspected) {
  transaction::SqlError error = retry_error_;
  if (retry_reason_ == RetryReason::lost_in_statement)
    error.message = "the connection broke each time its statement ran: " + error.message;
  if (retry_reason_ == RetryReason::cut_off)
    error.message = "the server did not end its statement at the deadline: " + error.message;
  if (retry_reason_ == RetryReason::lost_in_commit)
    error.message = "the connection broke each time at its COMMIT: " + error.message;
  for (TransactionRetry retry;;) {
    if (!has_session(suspected)) return GroupEnd::given_up;
    const GroupEnd end = charge(error);
    if (end != GroupEnd::repeat) return end;
    if (retry_reason_ == RetryReason::contention) return GroupEnd::split;
    retry.note(retry_reason_);
    if (!wait_after(retry)) return GroupEnd::given_up;
  }
}

/// Records a failed attempt of the batch's next event, and none of its writes.
Worker::GroupEnd Worker::charge(const transaction::SqlError& error) {
  CallCount count;
  {
    const std::lock_guard lock{mutex_};
    if (abandoned_) return GroupEnd::given_up;
    batch_.rewind();
    if (!batch_.begin_call(1)) return GroupEnd::nothing;
    count = batch_.fail_call({event::Verdict::Kind::retry, std::nullopt, "sql." + error.sqlstate, error.message},
                             milliseconds{0});
  }
  const GroupEnd end = commit(0);
  if (end == GroupEnd::done) share_->in_flight->called(count);
  return end;
}

}  // namespace inboxd::dispatcher
