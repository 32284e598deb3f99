#include "bisection.hpp"

namespace sql_handler {

bool Bisection::settle(std::size_t first, std::size_t count, std::size_t of) {
  // Past the deadline the next statement fails, and the daemon repeats the call event by event.
  if (first > 0 && call_->is_cancelled(call_) && call_->deadline_ms_left(call_) > 0) return false;
  // A call of a single event needs no savepoint: on failure the daemon undoes all of it.
  const std::int32_t savepoint = of > 1 ? sql_.savepoint(call_) : 0;
  const inboxd_sql_result* const result = execute(first, count);
  if (result->error == nullptr) {
    sql_.release(call_, result);
    if (savepoint > 0) sql_.release_savepoint(call_, savepoint);
    say(first, count, inboxd::done());
    return true;
  }
  const Failure failure{*result->error};
  sql_.release(call_, result);
  if (failure.will_repeat || sql_.state(call_) == INBOXD_SQL_OVER) return false;
  if (savepoint > 0) sql_.rollback_to(call_, savepoint);
  return settle_failed(first, count, of, failure);
}

bool Bisection::settle_failed(std::size_t first, std::size_t count, std::size_t of, const Failure& failure) {
  if (count == 1 || !depends_on_events(failure)) {
    say(first, count, outcome_of(failure, permanent_));
    return true;
  }
  const std::size_t half = count / 2;
  return settle(first, half, of) && settle(first + half, count - half, of);
}

const inboxd_sql_result* Bisection::execute(std::size_t first, std::size_t count) const {
  inboxd_sql_statement statement = inboxd_sql_query(statement_.text.c_str(), nullptr, 0);
  statement.flags = INBOXD_SQL_WITH_EVENTS | (statement_.requires_json ? INBOXD_SQL_JSON_REQUIRED : 0);
  statement.first = first;
  statement.count = count;
  return sql_.execute(call_, &statement);
}

void Bisection::say(std::size_t first, std::size_t count, const inboxd::Outcome& outcome) const {
  inboxd_verdict verdict{};
  verdict.struct_size = sizeof verdict;
  verdict.outcome = outcome.kind;
  verdict.delay_ms = outcome.delay ? outcome.delay->count() : INBOXD_POLICY_DELAY;
  verdict.error_class = inboxd_text(outcome.error_class.c_str());
  verdict.message = inboxd_bytes{outcome.message.data(), outcome.message.size()};
  for (std::size_t i = first; i < first + count; ++i) call_->verdict(call_, i, &verdict);
}

}  // namespace sql_handler
