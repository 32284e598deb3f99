// A handler's statements: prepared under the daemon's role, run under the handler's.
#include <algorithm>
#include <array>

#include "inbox/call_events.hpp"
#include "inbox/database_transaction.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using std::chrono::milliseconds;
using Effect = Connection::Access::Effect;

/// The server ends a statement at the call's deadline; the socket is cut where it has not said so for this much longer.
constexpr milliseconds grace{2'000};
/// So many statements do not take payloads for JSON after one of them may have been none.
constexpr int careful_statements = 32;
/// Fewer events are not worth a savepoint: of 64 in a transaction on, all sessions' snapshots take longer.
constexpr std::size_t fewest_trusted = 100;
/// What a plan may say that was made before tables or rights changed; but also what a statement's data can bring about.
bool may_be_stale(std::string_view sqlstate) { return sqlstate == "0A000" || sqlstate.substr(0, 2) == "42"; }

std::unique_ptr<SqlResult> result_with(SqlError error) {
  auto result = std::make_unique<SqlResult>();
  result->error = std::move(error);
  return result;
}

/// What a statement did after all, by the server's word for it: the second line of defence.
std::optional<std::string> misdeed_of(PGresult* result, const PGconn* connection) {
  const std::string_view tag = PQcmdStatus(result);
  const bool may_be_local = tag == "SET";
  auto misdeed = may_be_local ? std::nullopt : refused_because(tag);
  if (misdeed || PQtransactionStatus(connection) == PQTRANS_INTRANS) return misdeed;
  return "ended the transaction, which is the daemon's to end";
}

/// What making `body` of a payload that is no JSON may raise; but also what a statement's own data can bring about.
bool may_be_payload(std::string_view sqlstate) {
  const auto of_class = sqlstate.substr(0, 2);
  return of_class == "22" || of_class == "53" || of_class == "54";
}

/// Whether it pays to take all payloads for JSON: where none is asked for, nothing is gained.
bool is_worth_trust(const SqlStatement& statement, std::size_t events) {
  return events >= fewest_trusted && statement.text.find("body") != std::string_view::npos;
}

const Statement& relation_of(Sight sight) {
  if (sight == Sight::sent) return statements::tx_events_sent;
  return sight == Sight::trusting ? statements::tx_events_trusting : statements::tx_events;
}

PreparedSqlCache::Key key_of(const SqlStatement& statement, Sight sight) {
  return {std::string{statement.text}, sight, statement.values.size()};
}

}  // namespace

// No 08…: a server that says so speaks of another connection, of a function's own. Ours is lost by what it does not
// say.
bool is_repeated_state(std::string_view sqlstate) {
  constexpr std::array<std::string_view, 11> states{"40001", "40P01", "55P03", "53100", "53300", "25006",
                                                    "25P03", "26000", "42P05", "57P01", "57P02"};
  return std::find(states.begin(), states.end(), sqlstate) != states.end();
}

std::unique_ptr<SqlResult> DatabaseTransaction::execute(const SqlStatement& statement) {
  if (over_) {
    SqlError error = first_error_.value_or(error_with("25P02", "no statement can be run any more in this call"));
    error.will_repeat = must_repeat_;
    return result_with(std::move(error));
  }
  if (failed_) {
    return result_with(error_with("25P02", "a statement failed before; roll back to a savepoint first"));
  }
  if (auto why = refused_because(statement.text)) {
    SqlError error = error_with("0A000", "refused: the handler " + *why);
    error.not_run = true;
    return failed(std::move(error));
  }
  if (Clock::now() >= frame_.deadline) {
    over_ = true;
    return failed(error_with(past_deadline, "the call is past its deadline"));
  }
  ran_ = true;
  try {
    return run(statement);
  } catch (...) {
    return lost(inbox::describe_any(std::current_exception()));
  }
}

std::unique_ptr<SqlResult> DatabaseTransaction::run(const SqlStatement& statement) {
  const auto events = part_of(frame_.events, statement.first, statement.count);
  const Sight sight = sight_of(statement, events);
  if (sight != Sight::in_place || !is_worth_trust(statement, events.size())) return run(statement, events, sight);
  if (careful_ > 0) {
    --careful_;
    return run(statement, events, sight);
  }
  const std::int32_t before = savepoint();
  auto result = run(statement, events, Sight::trusting);
  if (over_ || !failed_ || result->error->not_run || !may_be_payload(result->error->sqlstate)) {
    savepoints_.release(before, failed_);
    return result;
  }
  if (savepoints_.undo(before)) forget_failure();
  careful_ = careful_statements;
  return run(statement, events, sight);
}

std::unique_ptr<SqlResult> DatabaseTransaction::run(const SqlStatement& statement, std::span<const CallEvent> events,
                                                    Sight sight) {
  const auto key = key_of(statement, sight);
  if (!connection_.is_open() || generation_ != connection_.generation()) cache_.clear();
  if (cache_.find(key) == nullptr) {
    if (auto error = prepare(statement, sight)) {
      error->not_run = true;
      return failed(std::move(*error));
    }
  }
  PreparedSql& prepared = *cache_.find(key);
  lingers_ = lingers_ || prepared.lingers;
  SqlParameters parameters;
  if (auto error = parameters.add(statement.values, prepared.types)) return failed(std::move(*error));
  add_events(parameters, sight, events);
  RowBuffer rows{settings_.result_bytes};
  const auto limit = std::chrono::ceil<milliseconds>(frame_.deadline - Clock::now()) + grace;
  const Sent sent = send(Effect::reads, limit, true, [&](Pipeline& pipeline) {
    pipeline.execute(prepared.name, parameters.wire(), prepared.shape.binary ? 1 : 0);
    pipeline.rows_to(rows);
    running_ = true;
  });
  running_ = false;
  run_.push_back(key);
  if (const PGresult* const bad = first_failure(sent.results)) {
    SqlError error = error_of(bad);
    const bool own = bad == sent.results[sent.own].get();
    error.position = own ? prepared.sent.position_of(error.position) : 0;
    // One of this very transaction is not: so it is repeated once for it, and then the statement means what it says.
    const bool stale = own && prepared.runs > 0 && prepared.transaction != transaction_ && may_be_stale(error.sqlstate);
    if (stale) cache_.erase(key);
    // Where not even BEGIN and the settings went, too.
    if (!own || is_short_of_memory(error, statement)) error.will_repeat = true;
    return failed(std::move(error), stale);
  }
  if (auto misdeed = misdeed_of(sent.results[sent.own].get(), access_.raw)) ended(std::move(*misdeed));
  ++prepared.runs;
  if (rows.is_too_large()) {
    return failed(error_with("54000", "the statement's rows take more than database.result_bytes (" +
                                          std::to_string(settings_.result_bytes) + " bytes)"));
  }
  return result_of(sent.results[sent.own].get(), std::move(rows), prepared.shape);
}

/// Has the server read a statement: under the daemon's role, since the handler's has no right to name what is in the
/// inbox; whether it may touch its tables is looked at when it runs.
std::optional<SqlError> DatabaseTransaction::prepare(const SqlStatement& statement, Sight sight) {
  PreparedSql prepared;
  prepared.sent.text = std::string{statement.text};
  if (statement.with_events) {
    auto merged = with_expression(
        statement.text, events_expression(access_.text_of(relation_of(sight)), statement.values.size()));
    if (!merged) {
      return error_with("0A000",
                        "this statement cannot see relation events: it must be INSERT, UPDATE, DELETE, MERGE, "
                        "SELECT, VALUES or WITH");
    }
    prepared.sent = std::move(*merged);
  }
  prepared.name = cache_.next_name();
  const bool switches = statement.with_events && !settings_.handler_role.empty();
  std::size_t parsed = 0;
  const auto limit = std::chrono::ceil<milliseconds>(frame_.deadline - Clock::now()) + grace;
  const Sent sent = send(Effect::reads, limit, true, [&](Pipeline& pipeline) {
    if (switches) add_role(pipeline, "none");
    parsed = pipeline.prepare(prepared.name, prepared.sent.text);
    pipeline.describe(prepared.name);
    if (switches) add_role(pipeline, settings_.handler_role);
  });
  if (const PGresult* const bad = first_failure(sent.results)) {
    SqlError error = error_of(bad);
    const bool own = bad == sent.results[parsed].get();
    error.position = own ? prepared.sent.position_of(error.position) : 0;
    if (!own || is_short_of_memory(error, statement)) error.will_repeat = true;
    if (is_good(sent.results[parsed].get())) cache_.disown(prepared.name);
    return error;
  }
  const PGresult* const description = sent.results[parsed + 1].get();
  const int ours = static_cast<int>(event_parameters(sight));
  for (int i = 0; i < PQnparams(description) - ours; ++i) prepared.types.push_back(PQparamtype(description, i));
  prepared.shape = shape_of(description);
  prepared.lingers = lingers(statement.text);
  prepared.transaction = transaction_;
  cache_.add(key_of(statement, sight), std::move(prepared));
  return std::nullopt;
}

/// Whether others may have taken it: of fewer events it would take less, but it has only one.
bool DatabaseTransaction::is_short_of_memory(const SqlError& error, const SqlStatement& statement) const {
  if (error.sqlstate != out_of_memory) return false;
  if (!statement.with_events) return frame_.events.size() == 1;
  return part_of(frame_.events, statement.first, statement.count).size() == 1;
}

std::unique_ptr<SqlResult> DatabaseTransaction::failed(SqlError error, bool stale_plan) {
  failed_ = true;
  // The connection stays, so this happens once.
  if (waited_long_ && error.sqlstate == past_deadline) error.will_repeat = true;
  if (error.will_repeat || stale_plan || is_repeated_state(error.sqlstate)) {
    error.will_repeat = over_ = must_repeat_ = true;
  }
  if (fault_of(error.sqlstate) == Fault::reconnect && must_repeat_)
    connection_.close();  // a standby, a pooler's session
  first_error_ = error;
  return result_with(std::move(error));
}

/// What was committed cannot be taken back: it is told, and the session goes with all that was changed in it.
void DatabaseTransaction::ended(std::string how) {
  log_.error(
      "dispatcher: a handler got round the daemon's transaction; what its calls wrote may be committed without being "
      "recorded as done, and is then written again",
      {{"worker", purpose_}, {"what", how}});
  close();
  misdeed_ = std::move(how);
  over_ = true;
}

std::unique_ptr<SqlResult> DatabaseTransaction::lost(const DatabaseFailure& failure) {
  SqlError error = error_of(failure);
  error.will_repeat = true;
  // What the server still works on would be in the next try's way: its locks make that fail in its own name.
  if (failure.was_cut_off) access_.await_cut_off();
  if (std::exchange(running_, false)) (failure.was_cut_off ? was_cut_off_ : lost_in_statement_) = true;
  return failed(std::move(error));
}

// ---- checks

std::unique_ptr<SqlResult> DatabaseTransaction::describe(const SqlStatement& statement,
                                                         std::chrono::milliseconds limit) {
  begin_call({{}, Clock::now() + limit, true});
  auto result = std::make_unique<SqlResult>();
  if (auto why = refused_because(statement.text)) {
    result->error = error_with("0A000", "refused: a handler that " + *why);
    return result;
  }
  const Sight sight = statement.with_events ? Sight::in_place : Sight::none;
  result->error = prepare(statement, sight);
  if (!result->error) {
    const PreparedSql& prepared = *cache_.find(key_of(statement, sight));
    result->columns = prepared.shape.columns;
    result->error = explain(statement, prepared);
  }
  roll_back();
  return result;
}

/// Rights are looked at when a plan is opened, so it is: EXPLAIN opens it and runs nothing.
std::optional<SqlError> DatabaseTransaction::explain(const SqlStatement& statement, const PreparedSql& prepared) {
  if (!with_expression(statement.text, "")) return std::nullopt;  // no plan: DO, CALL, SET LOCAL and the like
  std::string nulls;
  const std::size_t count = prepared.types.size() + (statement.with_events ? event_parameters(Sight::in_place) : 0);
  for (std::size_t i = 0; i < count; ++i) nulls += i == 0 ? "(null" : ", null";
  if (count > 0) nulls += ")";
  const Sent sent = send(Effect::reads, settings_.deadline, true, [&](Pipeline& pipeline) {
    pipeline.run("explain execute \"" + prepared.name + "\"" + nulls);
  });
  const PGresult* const bad = first_failure(sent.results);
  return bad == nullptr ? std::nullopt : std::optional{error_elsewhere(bad)};
}

}  // namespace inboxd::inbox
