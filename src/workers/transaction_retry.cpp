#include "workers/transaction_retry.hpp"

#include <algorithm>
#include <cassert>

#include "base/mutex.hpp"

namespace inboxd::dispatcher {
namespace {

/// Attempts before the events are charged. Contention is rarely an event's fault.
constexpr int max_contentions = 30;
/// A statement of the handler may have crashed the server. At COMMIT the connection may as well have been dead before.
constexpr int max_lost_in_statement = 3;
constexpr int max_lost_in_commit = 5;
/// The server hangs, which no event may be charged for, or the statement cannot be cancelled. The next attempt waits
/// until the server has ended the last attempt.
constexpr int max_cut_off = 10;
/// Other sessions may have taken the memory, or this transaction itself needs too much.
constexpr int max_out_of_memory = 5;
constexpr TransactionRetry::Wait initial_reconnect{100};
constexpr int max_doublings = 5;

}  // namespace

// ---- attempts

bool TransactionRetry::note(RetryReason reason) {
  reason_ = reason;
  if (is_contention()) return ++contentions_ > max_contentions;
  if (reason == RetryReason::environment) {
    ++environments_;
    return false;
  }
  if (reason == RetryReason::cut_off) return ++cut_off_ >= max_cut_off;  // it has waited for its deadline already
  ++others_;
  switch (reason) {
    case RetryReason::lost_in_statement:
      return ++lost_in_statement_ >= max_lost_in_statement;
    case RetryReason::lost_in_commit:
      return ++lost_in_commit_ >= max_lost_in_commit;
    case RetryReason::out_of_memory:
      return ++out_of_memory_ > max_out_of_memory;
    default:
      return false;
  }
}

/// Short after contention; doubling after a lost connection.
TransactionRetry::Wait TransactionRetry::wait() const {
  if (is_contention()) return initial_repeat * std::max(contentions_, 1);
  return initial_reconnect * (1 << std::min(std::max(others_ - 1, 0), max_doublings));
}

/// The first contention, and each attempt that doubles the wait.
std::optional<base::LogLevel> TransactionRetry::log_level() const {
  if (is_contention()) return contentions_ <= 1 ? std::optional{base::LogLevel::debug} : std::nullopt;
  return others_ <= max_doublings + 1 ? std::optional{base::LogLevel::warn} : std::nullopt;
}

bool TransactionRetry::is_event_suspected() const { return lost_in_statement_ + lost_in_commit_ + cut_off_ > 0; }

// ---- groups of calls

GroupLimiter::Slot::~Slot() {
  if (may_group_ && level_ == Level::one) limiter_.is_taken_ = false;
}

void GroupLimiter::change(Level to) {
  assert(to == Level::one || level_ == Level::one);
  level_ = to;
}

GroupLimiter::Slot GroupLimiter::begin(Clock::time_point now) {
  if (level_ == Level::all) return {*this, Level::all, true};
  const base::Lock lock{mutex_};
  if (level_ != Level::all && now >= changes_at_) {
    change(level_ == Level::none ? Level::one : Level::all);
    changes_at_ = now + hold_;
  }
  const Level level = level_;
  return {*this, level, level == Level::all || (level == Level::one && !is_taken_.exchange(true))};
}

bool GroupLimiter::collided(std::optional<Level> level, Clock::time_point now) {
  const base::Lock lock{mutex_};
  if (level && *level == level_) {  // otherwise another worker has lowered the level
    const bool is_forgiven = now >= forgiven_at_;
    hold_ = is_forgiven ? limits_.initial_hold : std::min(hold_ * 2, limits_.max_hold);
    changes_at_ = now + hold_;
    change(level_ == Level::all ? Level::one : Level::none);
    forgiven_at_ = changes_at_ + (level_ == Level::none ? hold_ : Clock::duration{0}) + limits_.forgiven;
  }
  return must_warn(now);
}

bool GroupLimiter::waited(Clock::time_point now) {
  const base::Lock lock{mutex_};
  if (level_ == Level::all) {
    change(Level::one);
    changes_at_ = now + limits_.initial_hold;
  }
  return must_warn(now);
}

bool GroupLimiter::must_warn(Clock::time_point now) {
  if (warned_ && now - *warned_ < limits_.quiet) return false;
  warned_ = now;
  return true;
}

}  // namespace inboxd::dispatcher
