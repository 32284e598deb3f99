#include "handlers/sql/failure.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace sql_handler;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What a server says; the texts are literals.
Failure failure(const char* sqlstate, const char* message, const char* detail = nullptr) {
  inboxd_sql_error error{};
  error.struct_size = sizeof error;
  error.sqlstate = inboxd_text(sqlstate);
  error.message = inboxd_text(message);
  error.detail = inboxd_text(detail);
  return Failure{error};
}

}  // namespace

TEST_CASE("a violated constraint is a retry of its SQLSTATE's class, with the constraint and without the values") {
  inboxd_sql_error error{};
  error.sqlstate = inboxd_text("23505");
  error.message = inboxd_text("duplicate key value violates unique constraint \"receipt_pkey\"");
  error.detail = inboxd_text("Key (card)=(4111) already exists.");
  error.schema = inboxd_text("billing");
  error.table = inboxd_text("receipt");
  error.constraint = inboxd_text("receipt_pkey");
  const auto outcome = outcome_of(Failure{error}, {});
  CHECK(outcome.kind == INBOXD_RETRY);
  CHECK_FALSE(outcome.delay);
  CHECK(outcome.error_class == "sql.23505");
  CHECK(outcome.message ==
        "duplicate key value violates unique constraint \"receipt_pkey\" (SQLSTATE 23505, constraint "
        "receipt_pkey, table billing.receipt)");
}

TEST_CASE("a function says retry by IR001, with a delay in the detail, and dead by ID001") {
  const auto dead = outcome_of(failure("ID001", "no such customer"), {});
  CHECK(dead.kind == INBOXD_DEAD);
  CHECK(dead.message == "no such customer");
  CHECK(dead.error_class == "sql.ID001");
  CHECK_FALSE(outcome_of(failure("IR001", "the bank is closed"), {}).delay);
  const auto delay = [](const char* detail) { return outcome_of(failure("IR001", "closed", detail), {}).delay; };
  CHECK(delay("250ms") == 250ms);
  CHECK(delay("30s") == 30s);
  CHECK(delay("5m") == 5min);
  CHECK(delay("12h") == 12h);
  CHECK(delay("7d") == 7 * 24h);
  CHECK(delay("00:05:30") == 5min + 30s);
  for (const char* const nonsense : {"soon", "5", "-5s", "1e3s", "99:99:99", "00:05", "00:05:00.5", "400d",
                                     "99999999999:00:00", "9999999999999999999s", "30 s"}) {
    INFO(nonsense);
    const auto outcome = outcome_of(failure("IR001", "closed", nonsense), {});
    CHECK(outcome.kind == INBOXD_RETRY);
    CHECK_FALSE(outcome.delay);
    CHECK_THAT(outcome.message, ContainsSubstring("no duration"));
  }
}

TEST_CASE("SQLSTATEs that are permanent go to the dead letters at once, also by their class") {
  const Permanent permanent{R"(["22","23505"])"};
  CHECK(outcome_of(failure("22P02", "no number"), permanent).kind == INBOXD_DEAD);
  CHECK(outcome_of(failure("23505", "twice"), permanent).kind == INBOXD_DEAD);
  CHECK(outcome_of(failure("23503", "no parent"), permanent).kind == INBOXD_RETRY);
  CHECK(Permanent{"[22]"}.has("22003"));
  CHECK_FALSE(Permanent{"[]"}.has("22003"));
  CHECK_THROWS_AS(Permanent{"[\"2\"]"}, inboxd::SettingsError);
  CHECK_THROWS_AS(Permanent{"[\"unique_violation\"]"}, inboxd::SettingsError);
}

TEST_CASE("other events are only tried where the events can be the reason") {
  for (const char* const state : {"22012", "23505", "21000", "P0001", "IR001", "ID001", "42501", "54001", "2F003",
                                  "42P01", "42601", "0A000", "57014", "53200"}) {
    INFO(state);
    CHECK(depends_on_events(failure(state, "")));
    Failure unread = failure(state, "");
    unread.not_run = true;
    CHECK_FALSE(depends_on_events(unread));
  }
  for (const char* const state : {"53100", "57P01", "08006", "40001"}) {
    INFO(state);
    CHECK_FALSE(depends_on_events(failure(state, "")));
  }
}

TEST_CASE("what is wrong with a statement is told with line, column and what stands there") {
  inboxd_sql_error error{};
  error.sqlstate = inboxd_text("42703");
  error.message = inboxd_text("column \"ordr\" does not exist");
  error.hint = inboxd_text("Perhaps you meant to reference the column \"events.offset\".");
  error.position = 34;
  const Statement statement = from_statement("insert into receipt\nselect body, ordr from events");
  CHECK(
      sentence_of(Failure{error}, statement) ==
      "setting 'statement', line 2, column 14 at 'ordr from events': column \"ordr\" does not exist (SQLSTATE 42703); "
      "Perhaps you meant to reference the column \"events.offset\".");
  CHECK_THAT(sentence_of(failure("42883", "function billing.on_order(record) does not exist"),
                         from_function("billing.on_order")),
             ContainsSubstring("create function billing.on_order(event inbox.message)"));
}
