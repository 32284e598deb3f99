#include "transaction/database_transaction.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <thread>

#include "base/mutex.hpp"
#include "inbox/answer.hpp"
#include "statements.hpp"

namespace inboxd::transaction {
namespace {

using std::chrono::milliseconds;
using Effect = inbox::Connection::Access::Effect;

/// statement_timeout is set again if it exceeds the call's remaining time, or falls short of it by more than 1/4.
constexpr std::int64_t timeout_slack = 4;
/// Added to the call's time, the longest idle time between two statements. Then the machine is frozen, and the server
/// ends the session: its locks must not outlive the lease for long.
constexpr milliseconds idle_grace{10'000};
/// A lost session is opened again a little later than the sessions that store and record events: connections may be
/// scarce.
constexpr milliseconds reopened_after{200};

/// Sets a flag for as long as it lives.
class FlagGuard final {
 public:
  explicit FlagGuard(std::atomic<bool>& flag) : flag_{flag} { flag_ = true; }
  ~FlagGuard() { flag_ = false; }
  FlagGuard(const FlagGuard&) = delete;
  FlagGuard& operator=(const FlagGuard&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

DatabaseTransaction::DatabaseTransaction(const config::Database& settings, base::Uuid owner, const std::string& purpose,
                                         inbox::Watchdog& watchdog, base::Logger& log,
                                         std::function<void()> on_published)
    : settings_{settings},
      owner_{owner.text()},
      purpose_{purpose},
      log_{log},
      on_published_{std::move(on_published)},
      connection_{settings, purpose, watchdog, log},
      access_{connection_.access()} {
  connection_.keep_search_path();
  // With a pooler other slots use the same session: statement names must be unique.
  if (!settings_.prepare) cache_.set_prefix("inboxd_" + base::random_uuid().text() + "_");
}

DatabaseTransaction::~DatabaseTransaction() {
  const base::Lock lock{cut_mutex_};
  if (socket_ >= 0) ::close(socket_);
}

// ---- sending

/// Sends the statements that `add` adds, after pending savepoint commands and, if `opens`, after BEGIN. Throws like
/// Access.
DatabaseTransaction::Sent DatabaseTransaction::send(Effect effect, milliseconds limit, bool opens, const Add& add) {
  Sent sent;
  own_preparing_.clear();
  if (is_cut()) throw inbox::DatabaseError{{inbox::Fault::reconnect, "", "the call was cancelled"}};
  if (timeout_ms_ && (!connection_.is_open() || connection_.generation() != generation_)) {
    throw inbox::DatabaseError{{inbox::Fault::reconnect, "", "the session of the transaction was lost"}};
  }
  const FlagGuard waiting{waiting_};
  access_.in_pipeline_mode(effect, limit, [&] {
    if (generation_ != connection_.generation()) {
      generation_ = connection_.generation();
      const auto now = Clock::now();
      facts_.waited_long = now - call_began_ > frame_.deadline - now;
      cache_.clear();
      own_prepared_.clear();
      const base::Lock lock{cut_mutex_};
      if (socket_ >= 0) ::close(socket_);
      socket_ = ::dup(PQsocket(access_.raw));
      if (cut_) throw pqxx::broken_connection{"the call was cancelled"};
    }
    inbox::Pipeline pipeline{access_.raw};
    for (const std::string& text : savepoints_.take_pending()) pipeline.run(text);
    if (opens) add_opening(pipeline);
    sent.own = pipeline.size();
    add(pipeline);
    sent.results = pipeline.finish();
  });
  note_prepared(sent.results);
  return sent;
}

/// Adds BEGIN and the settings, unless the transaction has begun, then new savepoints.
void DatabaseTransaction::add_opening(inbox::Pipeline& pipeline) {
  const auto left = std::chrono::ceil<milliseconds>(frame_.deadline - Clock::now()).count();
  const std::string timeout = std::to_string(std::max<std::int64_t>(left, 1));
  if (!timeout_ms_) {
    pipeline.run("begin isolation level read committed");
    add_role(pipeline, settings_.handler_role);
    inbox::WireParameters parameters;
    parameters.add(settings_.handler_search_path);
    parameters.add(timeout);
    const auto whole_call = std::chrono::ceil<milliseconds>(frame_.deadline - call_began_);
    const std::string idle = std::to_string((std::max(whole_call, milliseconds{0}) + idle_grace).count());
    parameters.add(idle);
    const std::string locks = frame_.lock_wait.count() > 0 ? std::to_string(frame_.lock_wait.count()) : std::string{};
    parameters.add(locks);
    add_own(pipeline, inbox::statements::tx_enter, parameters);
    change(TransactionState::begun);
    ++transaction_;
    timeout_ms_ = left;
  } else if (*timeout_ms_ > left || *timeout_ms_ < left - left / timeout_slack) {
    pipeline.run("set local statement_timeout = " + timeout);
    timeout_ms_ = left;
  }
  add_deallocations(pipeline, cache_.take_discarded());
  for (const std::string& text : savepoints_.take_new()) pipeline.run(text);
}

/// Adds a statement of the daemon. Returns the index of its result.
std::size_t DatabaseTransaction::add_own(inbox::Pipeline& pipeline, const inbox::Statement& statement,
                                         const inbox::WireParameters& parameters) {
  const std::string& text = access_.text_of(statement);
  if (!settings_.prepare) return pipeline.run(text, parameters, 0);
  if (own_prepared_.insert(&statement).second) {
    own_preparing_.emplace_back(&statement, pipeline.prepare(statement.name, text));
  }
  return pipeline.execute(statement.name, parameters, 0);
}

void DatabaseTransaction::add_deallocations(inbox::Pipeline& pipeline, const std::vector<std::string>& names) {
  for (const std::string& name : names) pipeline.run("deallocate \"" + name + "\"");
}

/// Empty: the session's own role, which `alter role … set role` may have chosen, and not `none`, the login's.
void DatabaseTransaction::add_role(inbox::Pipeline& pipeline, const std::string& role) {
  if (role.empty()) {
    pipeline.run("set local role to default");
    return;
  }
  inbox::WireParameters parameters;
  parameters.add(role);
  add_own(pipeline, inbox::statements::tx_role, parameters);
}

/// Drops the daemon's statements whose preparation failed.
void DatabaseTransaction::note_prepared(const std::vector<Result>& results) {
  for (const auto& [statement, index] : own_preparing_) {
    if (!inbox::is_good(results[index].get())) own_prepared_.erase(statement);
  }
}

const PGresult* DatabaseTransaction::first_failure(const std::vector<Result>& results) const {
  for (const Result& result : results) {
    if (!inbox::is_good(result.get())) return result.get();
  }
  return nullptr;
}

// ---- calls

std::optional<inbox::DatabaseFailure> DatabaseTransaction::open() {
  if (is_cut()) return inbox::DatabaseFailure{inbox::Fault::reconnect, "", "the call was cancelled"};
  const FlagGuard waiting{waiting_};
  if (!connection_.is_open() && connection_.generation() > 0) std::this_thread::sleep_for(reopened_after);
  return inbox::failure_of([&] { connection_.open(); });
}

void DatabaseTransaction::begin_call(CallFrame frame) {
  savepoints_.begin_call(frame.alone, has_failed());
  clear_failure();
  frame_ = std::move(frame);
  call_began_ = Clock::now();
  facts_ = {};
}

CallEnd DatabaseTransaction::end_call() {
  if (!facts_.over && state_ == TransactionState::begun && is_session_check_due()) check_session();
  // Connecting used up the deadline. There is a connection now, so the repeated call gets its full time.
  if (facts_.waited_long && !facts_.end.violation && state_ != TransactionState::repeat &&
      Clock::now() >= frame_.deadline) {
    failed(error_with(past_deadline, "waiting for a connection used up the call's deadline"));
  }
  facts_.end.must_repeat = state_ == TransactionState::repeat;
  if (!has_failed()) savepoints_.release_handlers();
  return facts_.end;
}

void DatabaseTransaction::undo_call() {
  if (savepoints_.undo_call()) {
    clear_failure();
    return;
  }
  const bool has_begun = timeout_ms_.has_value();
  reset_transaction();
  savepoints_.reset(has_begun ? "rollback" : "");
}

HandlerSql::State DatabaseTransaction::state() const {
  if (is_over()) return State::over;
  return has_failed() ? State::failed : State::ready;
}

// ---- savepoints

std::int32_t DatabaseTransaction::savepoint() { return savepoints_.set(has_failed()); }

/// Ignores savepoints from before the call.
void DatabaseTransaction::release_savepoint(std::int32_t number) {
  if (savepoints_.is_handlers(number)) savepoints_.release(number, has_failed());
}

void DatabaseTransaction::rollback_to(std::int32_t number) {
  if (savepoints_.is_handlers(number) && savepoints_.roll_back_to(number)) clear_failure();
}

void DatabaseTransaction::clear_failure() {
  if (state_ != TransactionState::failed) return;
  change(timeout_ms_ ? TransactionState::begun : TransactionState::idle);
  facts_.end.unhandled_error.reset();
}

// ---- the end

void DatabaseTransaction::change(TransactionState to) {
  using enum TransactionState;
  assert(to == idle || (to == begun && (state_ == idle || state_ == failed)) ||
         (to == failed && (state_ == idle || state_ == begun)) || (to == repeat && state_ != in_doubt) ||
         (to == in_doubt && state_ == idle));
  if (to == failed || to == repeat || to == in_doubt) {
    log_.debug("daemon.state_changed",
               {{"part", "transaction"},
                {"worker", purpose_},
                {"state", to == failed ? "failed" : to == repeat ? "repeat" : "in_doubt"}});
  }
  state_ = to;
}

void DatabaseTransaction::reset_transaction() {
  change(TransactionState::idle);
  timeout_ms_.reset();
  facts_.over = false;
  savepoints_.reset();
  statements_run_.clear();
}

void DatabaseTransaction::close() noexcept {
  connection_.close();
  reset_transaction();
}

void DatabaseTransaction::roll_back() {
  const bool open =
      (timeout_ms_ || savepoints_.has_pending()) && connection_.is_open() && connection_.generation() == generation_;
  reset_transaction();
  if (!open) return;
  // If it fails, the connection is gone, and the transaction with it.
  const auto ignored = inbox::failure_of([&] {
    send(Effect::reads, settings_.deadline, false, [&](inbox::Pipeline& pipeline) {
      pipeline.run("rollback");
      add_leaving(pipeline);
      if (!settings_.prepare) add_deallocations(pipeline, cache_.names());
    });
    if (!settings_.prepare) cache_.clear();
  });
}

void DatabaseTransaction::cut() {
  const base::Lock lock{cut_mutex_};
  cut_ = true;
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

bool DatabaseTransaction::is_cut() const {
  const base::Lock lock{cut_mutex_};
  return cut_;
}

TransactionFactory database_transactions(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog,
                                         base::Logger& log, std::function<void()> on_published) {
  return [database, owner, &watchdog, &log,
          on_published = std::move(on_published)](const std::string& purpose) -> std::unique_ptr<HandlerTransaction> {
    return std::make_unique<DatabaseTransaction>(database, owner, purpose, watchdog, log, on_published);
  };
}

}  // namespace inboxd::transaction
