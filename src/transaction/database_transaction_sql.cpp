// A handler's statements: prepared under the daemon's role, run under the handler's.
#include <algorithm>
#include <array>

#include "inbox/answer.hpp"
#include "statements.hpp"
#include "transaction/body_paths.hpp"
#include "transaction/call_events.hpp"
#include "transaction/database_transaction.hpp"

namespace inboxd::transaction {
namespace {

using std::chrono::milliseconds;
using Effect = inbox::Connection::Access::Effect;

/// After a payload that may not be JSON, this many statements run without assuming JSON.
constexpr int untrusting_statements = 32;
/// Fewer events are not worth a savepoint: from 64 savepoints in a transaction, snapshots take longer in all sessions.
constexpr std::size_t fewest_trusted_events = 100;
/// Errors of a plan that is older than a change of tables or rights. The data of a statement can also cause them.
bool may_be_stale(std::string_view sqlstate) { return sqlstate == "0A000" || sqlstate.substr(0, 2) == "42"; }

std::unique_ptr<SqlResult> result_with(SqlError error) {
  auto result = std::make_unique<SqlResult>();
  result->error = std::move(error);
  return result;
}

/// The violation that the tag of a finished command shows: the second line of defence after refused_because.
std::optional<std::string> violation_of(PGresult* result, const PGconn* connection) {
  const std::string_view tag = PQcmdStatus(result);
  const bool may_be_local = tag == "SET";
  auto violation = may_be_local ? std::nullopt : refused_because(tag);
  if (violation || PQtransactionStatus(connection) == PQTRANS_INTRANS) return violation;
  return "ended the transaction; only the daemon begins and ends transactions";
}

/// Errors of parsing a payload that is not JSON. The data of a statement can also cause them.
bool may_be_payload(std::string_view sqlstate) {
  const auto of_class = sqlstate.substr(0, 2);
  return of_class == "22" || of_class == "53" || of_class == "54";
}

/// Whether assuming JSON pays: only for statements that read `body`.
bool is_worth_trust(const SqlStatement& statement, std::size_t events) {
  return events >= fewest_trusted_events && statement.text.find("body") != std::string_view::npos;
}

const inbox::Statement& relation_of(EventSource source) {
  if (source == EventSource::sent) return inbox::statements::tx_events_sent;
  return source == EventSource::trusting ? inbox::statements::tx_events_trusting : inbox::statements::tx_events;
}

}  // namespace

// Not 08…: a server that reports it means a connection of its own (a foreign table). A broken session of ours has no
// SQLSTATE.
bool is_repeated_state(std::string_view sqlstate) {
  constexpr std::array<std::string_view, 11> states{"40001", "40P01", "55P03", "53100", "53300", "25006",
                                                    "25P03", "26000", "42P05", "57P01", "57P02"};
  return std::find(states.begin(), states.end(), sqlstate) != states.end();
}

/// Null: a statement may run.
std::unique_ptr<SqlResult> DatabaseTransaction::refusal() {
  if (is_over()) {
    const auto& earlier = facts_.end.unhandled_error;
    SqlError error = earlier.value_or(error_with("25P02", "this call cannot run any more statements"));
    error.will_repeat = state_ == TransactionState::repeat;
    return result_with(std::move(error));
  }
  if (has_failed()) {
    return result_with(error_with("25P02", "an earlier statement failed; roll back to a savepoint first"));
  }
  if (Clock::now() < frame_.deadline) return nullptr;
  facts_.over = true;
  return failed(error_with(past_deadline, "the call is past its deadline"));
}

std::unique_ptr<SqlResult> DatabaseTransaction::execute(const SqlStatement& statement) {
  if (auto refused = refusal()) return refused;
  if (auto why = refused_because(statement.text)) {
    SqlError error = error_with("0A000", "refused: the handler " + *why);
    error.not_run = true;
    return failed(std::move(error));
  }
  facts_.end.ran = true;
  auto answer = inbox::ask([&] {
    auto result = run(statement);
    if (!result->error) watch_bodies(statement);
    return result;
  });
  if (const auto* const failure = std::get_if<inbox::DatabaseFailure>(&answer)) return lost(*failure);
  return std::get<std::unique_ptr<SqlResult>>(std::move(answer));
}

std::unique_ptr<SqlResult> DatabaseTransaction::run(const SqlStatement& statement) {
  const auto events = part_of(frame_.events, statement.first, statement.count);
  const EventSource source = source_for(statement, events);
  if (source == EventSource::in_place && is_worth_trust(statement, events.size())) {
    if (untrusting_left_ == 0) return run_trusting(statement, events);
    --untrusting_left_;
  }
  return run(statement, events, source);
}

std::unique_ptr<SqlResult> DatabaseTransaction::run_trusting(const SqlStatement& statement,
                                                             std::span<const CallEvent> events) {
  const std::int32_t before = savepoint();
  auto result = run(statement, events, EventSource::trusting);
  if (is_over() || !has_failed() || result->error->not_run || !may_be_payload(result->error->sqlstate)) {
    savepoints_.release(before, has_failed());
    return result;
  }
  if (savepoints_.roll_back_to(before)) clear_failure();
  untrusting_left_ = untrusting_statements;
  return run(statement, events, EventSource::in_place);
}

/// Under a savepoint: a question of the daemon's own must not fail the handler's call.
void DatabaseTransaction::watch_bodies(const SqlStatement& statement) {
  if (frame_.body_watch == nullptr || !statement.with_events || is_over() || Clock::now() >= frame_.deadline) return;
  if (!frame_.body_watch->is_due(Clock::now())) return;
  const auto paths = body_paths(statement.text);
  if (paths.empty()) return;
  const std::string text = body_question(paths);
  SqlStatement question = statement;
  question.text = text;
  question.values = {};
  question.requires_json = false;
  const auto events = part_of(frame_.events, statement.first, statement.count);
  const std::int32_t before = savepoint();
  const auto answer = run(question, events, source_for(question, events));
  if (!answer->error) {
    savepoints_.release(before, false);
    frame_.body_watch->add(paths, answer->value(0, 0).integer, answer->value(0, 1).integer, Clock::now());
  } else if (!is_over() && savepoints_.roll_back_to(before)) {
    clear_failure();
  }
}

std::unique_ptr<SqlResult> DatabaseTransaction::run(const SqlStatement& statement, std::span<const CallEvent> events,
                                                    EventSource source) {
  const auto key = key_of(statement, source);
  if (!connection_.is_open() || generation_ != connection_.generation()) cache_.clear();
  if (cache_.find(key) == nullptr) {
    if (auto error = prepare(statement, source)) {
      error->not_run = true;
      return failed(std::move(*error));
    }
  }
  PreparedSql& prepared = *cache_.find(key);
  facts_.end.leaves_state = facts_.end.leaves_state || prepared.leaves_state;
  has_published_ = has_published_ || prepared.publishes;
  SqlParameters parameters;
  if (auto error = parameters.add(statement.values, prepared.types)) return failed(std::move(*error));
  add_events(parameters, source, events, statement.requires_json);
  RowBuffer rows{settings_.result_bytes};
  const auto limit = std::chrono::ceil<milliseconds>(frame_.deadline - Clock::now()) + statement_grace;
  const Sent sent = send(Effect::reads, limit, true, [&](inbox::Pipeline& pipeline) {
    pipeline.execute(prepared.name, parameters.wire(), prepared.shape.binary ? 1 : 0);
    pipeline.rows_to(rows);
    facts_.running = true;
  });
  facts_.running = false;
  statements_run_.push_back(key);
  if (const PGresult* const bad = first_failure(sent.results)) {
    SqlError error = error_of(bad);
    const bool own = bad == sent.results[sent.own].get();
    error.position = own ? prepared.sent.position_of(error.position) : 0;
    // A plan of this transaction is not stale. So a stale plan causes a single repetition; then the error stands.
    const bool stale = own && prepared.runs > 0 && prepared.transaction != transaction_ && may_be_stale(error.sqlstate);
    if (stale) cache_.erase(key);
    // Also if BEGIN or a setting failed.
    if (!own || is_short_of_memory(error, statement)) error.will_repeat = true;
    return failed(std::move(error), stale);
  }
  if (auto violation = violation_of(sent.results[sent.own].get(), access_.raw))
    transaction_ended(std::move(*violation));
  ++prepared.runs;
  if (rows.is_too_large()) {
    return failed(error_with("54000", "the rows of the statement exceed database.result_bytes (" +
                                          std::to_string(settings_.result_bytes) + " bytes)"));
  }
  return result_of(sent.results[sent.own].get(), std::move(rows), prepared.shape);
}

/// Prepares a statement. Under the daemon's role, because the handler's role has no right to use schema inbox; the
/// server checks the rights on the handler's tables when the statement runs.
std::optional<SqlError> DatabaseTransaction::prepare(const SqlStatement& statement, EventSource source) {
  PreparedSql prepared;
  prepared.sent.text = std::string{statement.text};
  if (statement.with_events) {
    auto merged = with_expression(statement.text,
                                  events_expression(access_.text_of(relation_of(source)), statement.values.size()));
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
  const auto limit = std::chrono::ceil<milliseconds>(frame_.deadline - Clock::now()) + statement_grace;
  const Sent sent = send(Effect::reads, limit, true, [&](inbox::Pipeline& pipeline) {
    if (switches) add_role(pipeline, "");
    parsed = pipeline.prepare(prepared.name, prepared.sent.text);
    pipeline.describe(prepared.name);
    if (switches) add_role(pipeline, settings_.handler_role);
  });
  if (const PGresult* const bad = first_failure(sent.results)) {
    SqlError error = error_of(bad);
    const bool own = bad == sent.results[parsed].get();
    error.position = own ? prepared.sent.position_of(error.position) : 0;
    if (!own || is_short_of_memory(error, statement)) error.will_repeat = true;
    if (inbox::is_good(sent.results[parsed].get())) cache_.discard(prepared.name);
    return error;
  }
  const PGresult* const description = sent.results[parsed + 1].get();
  const int own = static_cast<int>(event_parameters(source));
  for (int i = 0; i < PQnparams(description) - own; ++i) prepared.types.push_back(PQparamtype(description, i));
  prepared.shape = shape_of(description);
  prepared.leaves_state = leaves_state(statement.text);
  prepared.publishes = statement.text.find("publish") != std::string_view::npos;
  prepared.transaction = transaction_;
  cache_.add(key_of(statement, source), std::move(prepared));
  return std::nullopt;
}

/// Out of memory with a single event, so that other sessions may have used it up: a smaller call cannot help.
bool DatabaseTransaction::is_short_of_memory(const SqlError& error, const SqlStatement& statement) const {
  if (error.sqlstate != out_of_memory) return false;
  if (!statement.with_events) return frame_.events.size() == 1;
  return part_of(frame_.events, statement.first, statement.count).size() == 1;
}

std::unique_ptr<SqlResult> DatabaseTransaction::failed(SqlError error, bool stale_plan) {
  // The connection stays open, so this happens only once.
  if (facts_.waited_long && error.sqlstate == past_deadline) error.will_repeat = true;
  if (stale_plan || is_repeated_state(error.sqlstate)) error.will_repeat = true;
  change(error.will_repeat ? TransactionState::repeat : TransactionState::failed);
  if (inbox::fault_of(error.sqlstate) == inbox::Fault::reconnect && error.will_repeat)
    connection_.close();  // a standby, or another session of a pooler
  facts_.end.unhandled_error = error;
  return result_with(std::move(error));
}

/// A commit cannot be undone: it is logged, and the session is closed.
void DatabaseTransaction::transaction_ended(std::string how) {
  log_.error("transaction.bypassed", {{"worker", purpose_}, {"how", how}});
  close();
  facts_.end.violation = std::move(how);
  facts_.over = true;
}

std::unique_ptr<SqlResult> DatabaseTransaction::lost(const inbox::DatabaseFailure& failure) {
  SqlError error = error_of(failure);
  error.will_repeat = true;
  // If the server still ran that statement, its locks would fail the next try.
  if (failure.was_cut_off) access_.await_cut_off_statement();
  if (std::exchange(facts_.running, false)) {
    (failure.was_cut_off ? facts_.end.was_cut_off : facts_.end.lost_in_statement) = true;
  }
  return failed(std::move(error));
}

}  // namespace inboxd::transaction
