// TransactionalWorker: its session, and transactions that failed.
#include <algorithm>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "inbox/database_error.hpp"
#include "workers/transactional_worker.hpp"

namespace inboxd::dispatcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds last_wait{5'000};
constexpr milliseconds wait_step{20};

/// How long a worker keeps an event that may have broken its connection, while no new connection can be made: until the
/// server has recovered from a crash.
constexpr std::chrono::seconds max_recovery{60};

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

// ---- the session

/// Waits for a session without events, which other workers run meanwhile.
void TransactionalWorker::prepare() {
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

/// Whether the next transaction has a session. Without a session the events go back, except of a transaction whose
/// events may have broken the last session: the count of such failures is here.
bool TransactionalWorker::has_session(const TransactionRetry& retry) {
  const auto until = Clock::now() + (retry.is_event_suspected() ? max_recovery : std::chrono::seconds{0});
  while (const auto failure = transaction_->open()) {
    if (Clock::now() >= until || !wait_about(backoff_.failed(*failure, Clock::now()))) return false;
  }
  return true;
}

// ---- failed transactions

void TransactionalWorker::note_retry(const std::optional<transaction::SqlError>& error, RetryReason if_lost) {
  retry_error_ = error.value_or(transaction::error_with(transaction::lost_connection, ""));
  retry_reason_ = retry_reason_of(retry_error_, if_lost);
}

/// Two transactions wanted the same locks: a deadlock, a serialization failure, or a lock wait of a transaction that
/// shares calls and so waits only briefly. A lock wait of the usual length is no collision.
bool TransactionalWorker::is_collision() const {
  const std::string& state = retry_error_.sqlstate;
  return retry_reason_ == RetryReason::contention && (state == "40P01" || state == "40001" || waited_briefly());
}

bool TransactionalWorker::waited_briefly() const {
  return group_level_ == GroupLimiter::Level::all && retry_error_.sqlstate == "55P03";
}

/// True if the transaction shared calls: they run again at once, on the lower level.
bool TransactionalWorker::note_collision() {
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
bool TransactionalWorker::wait_after(const TransactionRetry& retry) {
  ++share_->in_flight->figures().repeated;
  if (retry_reason_ == RetryReason::environment) {
    const bool is_first = retry.environments() == 1;
    if (is_first && is_corrected(retry_error_.sqlstate)) return wait_about(TransactionRetry::initial_repeat);
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
bool TransactionalWorker::wait_about(milliseconds wait) {
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
TransactionalWorker::Ended TransactionalWorker::charge_culprit(const TransactionRetry& suspected) {
  transaction::SqlError error = retry_error_;
  if (retry_reason_ == RetryReason::lost_in_statement)
    error.message = "the connection broke each time its statement ran: " + error.message;
  if (retry_reason_ == RetryReason::cut_off)
    error.message = "the server did not end its statement at the deadline: " + error.message;
  if (retry_reason_ == RetryReason::lost_in_commit)
    error.message = "the connection broke each time at its COMMIT: " + error.message;
  for (TransactionRetry retry;;) {
    if (!has_session(suspected)) return Ended::given_up;
    const Ended end = charge(error);
    if (end != Ended::repeat) return end;
    if (retry_reason_ == RetryReason::contention) return Ended::split;
    retry.note(retry_reason_);
    if (!wait_after(retry)) return Ended::given_up;
  }
}

/// Records a failed attempt of the batch's next event, and none of its writes.
TransactionalWorker::Ended TransactionalWorker::charge(const transaction::SqlError& error) {
  CallCount count;
  {
    const base::Lock lock{mutex_};
    if (is_given_up()) return Ended::given_up;
    batch_.rewind();
    if (!batch_.begin_call(1)) return Ended::nothing;
    count = batch_.fail_call({event::Verdict::Kind::retry, std::nullopt, "sql." + error.sqlstate, error.message},
                             milliseconds{0});
  }
  const Ended end = commit(0);
  if (end == Ended::done) share_->in_flight->called(count);
  return end;
}

}  // namespace inboxd::dispatcher
