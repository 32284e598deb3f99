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
    for (const std::string& text : std::exchange(pending_, {})) pipeline.run(text);
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
    add_daemons(pipeline, statements::tx_enter, parameters);
    begun_ = true;
    ++transaction_;
    timeout_ms_ = left;
  } else if (timeout_ms_ > left || timeout_ms_ < left - left / timeout_slack) {
    pipeline.run("set local statement_timeout = " + timeout);
    timeout_ms_ = left;
  }
  add_forgetting(pipeline, cache_.take_disowned());
  for (Point& point : points_) {
    if (point.sent) continue;
    pipeline.run("savepoint s" + std::to_string(point.number));
    point.sent = true;
  }
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
  if (call_point_ > 0) release(std::exchange(call_point_, 0));  // what the call before wrote stays
  frame_ = std::move(frame);
  call_began_ = Clock::now();
  failed_ = over_ = must_repeat_ = ran_ = lingers_ = lost_in_statement_ = was_cut_off_ = waited_long_ = false;
  first_error_.reset();
  misdeed_.reset();
  call_point_ = frame_.alone ? 0 : savepoint();
  first_point_ = next_point_ + 1;
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
  // What the handler left of its savepoints. The call's own stays until it is known that the call is kept.
  const auto left =
      std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.number >= first_point_; });
  if (left != points_.end() && !failed_ && !must_repeat_) release(left->number);
  return end;
}

void DatabaseTransaction::undo_call() {
  if (call_point_ > 0) {
    undo_to(std::exchange(call_point_, 0));
    return;
  }
  points_.clear();
  pending_.clear();
  if (begun_) pending_.push_back("rollback");
  begun_ = failed_ = false;
  run_.clear();
}

HandlerSql::State DatabaseTransaction::state() const {
  if (over_) return State::over;
  return failed_ ? State::failed : State::ready;
}

// ---- savepoints

std::int32_t DatabaseTransaction::savepoint() {
  points_.push_back({++next_point_, false, failed_});
  return next_point_;
}

/// Numbers from before the call are not the handler's.
void DatabaseTransaction::release_savepoint(std::int32_t number) {
  if (number >= first_point_) release(number);
}

void DatabaseTransaction::rollback_to(std::int32_t number) {
  if (number >= first_point_) undo_to(number);
}

void DatabaseTransaction::release(std::int32_t number) {
  const auto at = std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.number == number; });
  if (at == points_.end()) return;
  if (at->sent && !failed_) pending_.push_back("release savepoint s" + std::to_string(number));
  points_.erase(at, points_.end());
}

void DatabaseTransaction::undo_to(std::int32_t number) {
  const auto at = std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.number == number; });
  if (at == points_.end()) return;
  if (at->sent) {
    pending_.push_back("rollback to savepoint s" + std::to_string(number));
    pending_.push_back("release savepoint s" + std::to_string(number));
  }
  if (!at->set_after_failure) {
    failed_ = false;
    first_error_.reset();
  }
  points_.erase(at, points_.end());
}

// ---- the end

void DatabaseTransaction::forget_transaction() {
  begun_ = failed_ = over_ = must_repeat_ = false;
  points_.clear();
  pending_.clear();
  run_.clear();
  call_point_ = 0;
}

void DatabaseTransaction::close() noexcept {
  connection_.close();
  forget_transaction();
}

void DatabaseTransaction::roll_back() {
  const bool open = (begun_ || !pending_.empty()) && connection_.is_open() && connection_.generation() == generation_;
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

namespace {

class DatabaseDescriber final : public SqlDescriber {
 public:
  DatabaseDescriber(const config::Database& settings, Watchdog& watchdog, base::Logger& log)
      : limit_{settings.deadline}, transaction_{settings, base::Uuid{}, "check", watchdog, log} {}

  std::unique_ptr<SqlResult> describe(const SqlStatement& statement) override {
    if (is_away_) return nullptr;
    try {
      return transaction_.describe(statement, limit_);
    } catch (...) {
      inbox::describe(std::current_exception());
      is_away_ = true;  // asked once: each question would wait for its own
      return nullptr;
    }
  }

 private:
  std::chrono::milliseconds limit_;
  bool is_away_ = false;
  DatabaseTransaction transaction_;
};

}  // namespace

std::unique_ptr<SqlDescriber> database_describer(const config::Database& database, Watchdog& watchdog,
                                                 base::Logger& log) {
  return std::make_unique<DatabaseDescriber>(database, watchdog, log);
}

}  // namespace inboxd::inbox
