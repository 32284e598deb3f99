#include "inbox/database_transaction.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using std::chrono::milliseconds;
using Effect = Connection::Access::Effect;

/// statement_timeout is set anew where it is more than the call has left, or less by more than one part in so many.
constexpr std::int64_t timeout_slack = 4;
/// A handler may work as long as its call between two statements; so much longer, and its machine stands still. The
/// server ends the session then: its locks must not outlive the lease for long.
constexpr milliseconds standstill{10'000};

/// Set as long as it lives, however that ends.
class Set final {
 public:
  explicit Set(std::atomic<bool>& flag) : flag_{flag} { flag_ = true; }
  ~Set() { flag_ = false; }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

DatabaseTransaction::DatabaseTransaction(const config::Database& settings, base::Uuid owner, const std::string& purpose,
                                         Watchdog& watchdog, base::Logger& log)
    : settings_{settings},
      owner_{owner.text()},
      purpose_{purpose},
      log_{log},
      connection_{settings, purpose, watchdog, log},
      access_{connection_.access()} {
  // Behind a pooler the names are seen by sessions that are not ours.
  if (!settings_.prepare) cache_.set_prefix("inboxd_" + base::random_uuid().text() + "_");
}

DatabaseTransaction::~DatabaseTransaction() {
  const std::lock_guard lock{cut_mutex_};
  if (socket_ >= 0) ::close(socket_);
}

// ---- sending

/// Sends what `add` puts in, after BEGIN and what else is pending where `opens`; throws as Access does.
DatabaseTransaction::Sent DatabaseTransaction::send(Effect effect, milliseconds limit, bool opens, const Add& add) {
  Sent sent;
  being_prepared_.clear();
  if (is_cut()) throw DatabaseError{{Fault::reconnect, "", "the call was given up"}};
  if (begun_ && (!connection_.is_open() || connection_.generation() != generation_)) {
    throw DatabaseError{{Fault::reconnect, "", "the session of the transaction is gone"}};
  }
  const Set waiting{waiting_};
  access_.talk(effect, limit, [&] {
    if (generation_ != connection_.generation()) {
      generation_ = connection_.generation();
      const auto now = Clock::now();
      waited_long_ = now - call_began_ > frame_.deadline - now;
      cache_.clear();
      daemons_.clear();
      const std::lock_guard lock{cut_mutex_};
      if (socket_ >= 0) ::close(socket_);
      socket_ = ::dup(PQsocket(access_.raw));
      if (cut_) throw pqxx::broken_connection{"the call was given up"};
    }
    Pipeline pipeline{access_.raw};
    for (const std::string& text : savepoints_.take_pending()) pipeline.run(text);
    if (opens) add_opening(pipeline);
    sent.own = pipeline.size();
    add(pipeline);
    sent.results = pipeline.finish();
  });
  noticed(sent.results);
  return sent;
}

/// BEGIN and the settings, where it has not begun; savepoints that were asked for.
void DatabaseTransaction::add_opening(Pipeline& pipeline) {
  const auto left = std::chrono::ceil<milliseconds>(frame_.deadline - Clock::now()).count();
  const std::string timeout = std::to_string(std::max<std::int64_t>(left, 1));
  if (!begun_) {
    pipeline.run("begin isolation level read committed");
    WireParameters parameters;
    const std::string& role = settings_.handler_role.empty() ? std::string{"none"} : settings_.handler_role;
    parameters.add(role);
    parameters.add(settings_.handler_search_path);
    parameters.add(timeout);
    const auto whole_call = std::chrono::ceil<milliseconds>(frame_.deadline - call_began_);
    parameters.add(std::to_string((std::max(whole_call, milliseconds{0}) + standstill).count()));
    add_daemons(pipeline, statements::tx_enter, parameters);
    begun_ = true;
    ++transaction_;
    timeout_ms_ = left;
  } else if (timeout_ms_ > left || timeout_ms_ < left - left / timeout_slack) {
    pipeline.run("set local statement_timeout = " + timeout);
    timeout_ms_ = left;
  }
  add_forgetting(pipeline, cache_.take_disowned());
  for (const std::string& text : savepoints_.take_new()) pipeline.run(text);
}

/// A statement of the daemon's own. Returns the index of its result.
std::size_t DatabaseTransaction::add_daemons(Pipeline& pipeline, const Statement& statement,
                                             const WireParameters& parameters) {
  const std::string& text = access_.text_of(statement);
  if (!settings_.prepare) return pipeline.run(text, parameters, 0);
  if (daemons_.insert(&statement).second) {
    being_prepared_.emplace_back(&statement, pipeline.prepare(statement.name, text));
  }
  return pipeline.execute(statement.name, parameters, 0);
}

void DatabaseTransaction::add_forgetting(Pipeline& pipeline, const std::vector<std::string>& names) {
  for (const std::string& name : names) pipeline.run("deallocate \"" + name + "\"");
}

void DatabaseTransaction::add_role(Pipeline& pipeline, const std::string& role) {
  WireParameters parameters;
  parameters.add(role);
  add_daemons(pipeline, statements::tx_role, parameters);
}

/// Statements of the daemon's own are known from now on, or not.
void DatabaseTransaction::noticed(const std::vector<Result>& results) {
  for (const auto& [statement, index] : being_prepared_) {
    if (!is_good(results[index].get())) daemons_.erase(statement);
  }
}

const PGresult* DatabaseTransaction::first_failure(const std::vector<Result>& results) const {
  for (const Result& result : results) {
    if (!is_good(result.get())) return result.get();
  }
  return nullptr;
}

// ---- calls

void DatabaseTransaction::begin_call(CallFrame frame) {
  savepoints_.begin_call(frame.alone, failed_);
  frame_ = std::move(frame);
  call_began_ = Clock::now();
  failed_ = over_ = must_repeat_ = ran_ = lingers_ = lost_in_statement_ = was_cut_off_ = waited_long_ = false;
  first_error_.reset();
  misdeed_.reset();
}

CallEnd DatabaseTransaction::end_call() {
  if (!over_ && !failed_ && !misdeed_ && begun_ && session_is_due()) look_at_session();
  // Whatever the handler made of the rest: now that there is a connection, it gets all of its time.
  if (waited_long_ && !misdeed_ && !must_repeat_ && Clock::now() >= frame_.deadline) {
    failed(error_with(past_deadline, "the call's time went by while it waited for a connection"));
  }
  CallEnd end;
  end.ran = ran_;
  end.lingers = lingers_;
  end.must_repeat = must_repeat_;
  end.lost_in_statement = lost_in_statement_;
  end.was_cut_off = was_cut_off_;
  if (failed_ || must_repeat_) end.unresolved = first_error_;
  end.misdeed = misdeed_;
  if (!failed_ && !must_repeat_) savepoints_.release_handlers();
  return end;
}

void DatabaseTransaction::undo_call() {
  if (savepoints_.undo_call()) {
    forget_failure();
    return;
  }
  savepoints_.forget(begun_ ? "rollback" : "");
  begun_ = failed_ = false;
  run_.clear();
}

HandlerSql::State DatabaseTransaction::state() const {
  if (over_) return State::over;
  return failed_ ? State::failed : State::ready;
}

// ---- savepoints

std::int32_t DatabaseTransaction::savepoint() { return savepoints_.set(failed_); }

/// Numbers from before the call are not the handler's.
void DatabaseTransaction::release_savepoint(std::int32_t number) {
  if (savepoints_.is_handlers(number)) savepoints_.release(number, failed_);
}

void DatabaseTransaction::rollback_to(std::int32_t number) {
  if (savepoints_.is_handlers(number) && savepoints_.undo(number)) forget_failure();
}

void DatabaseTransaction::forget_failure() {
  failed_ = false;
  first_error_.reset();
}

// ---- the end

void DatabaseTransaction::forget_transaction() {
  begun_ = failed_ = over_ = must_repeat_ = false;
  savepoints_.forget();
  run_.clear();
}

void DatabaseTransaction::close() noexcept {
  connection_.close();
  forget_transaction();
}

void DatabaseTransaction::roll_back() {
  const bool open =
      (begun_ || savepoints_.has_pending()) && connection_.is_open() && connection_.generation() == generation_;
  forget_transaction();
  if (!open) return;
  try {
    send(Connection::Access::Effect::reads, settings_.deadline, false, [&](Pipeline& pipeline) {
      pipeline.run("rollback");
      add_leaving(pipeline);
      if (!settings_.prepare) add_forgetting(pipeline, cache_.names());
    });
    if (!settings_.prepare) cache_.clear();
  } catch (...) {
    inbox::describe_any(std::current_exception());  // the connection is gone, and the transaction with it
  }
}

void DatabaseTransaction::cut() {
  const std::lock_guard lock{cut_mutex_};
  cut_ = true;
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

bool DatabaseTransaction::is_cut() const {
  const std::lock_guard lock{cut_mutex_};
  return cut_;
}

TransactionFactory database_transactions(const config::Database& database, base::Uuid owner, Watchdog& watchdog,
                                         base::Logger& log) {
  return [database, owner, &watchdog, &log](const std::string& purpose) -> std::unique_ptr<HandlerTransaction> {
    return std::make_unique<DatabaseTransaction>(database, owner, purpose, watchdog, log);
  };
}

}  // namespace inboxd::inbox
