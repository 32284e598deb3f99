#include "handlers/sql/sql_failure.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace sql_handler;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A server's report; the texts are literals.
Failure failure(const char* sqlstate, const char* message, const char* detail = nullptr) {
  inboxd_sql_error error{};
  error.struct_size = sizeof error;
  error.sqlstate = inboxd_text(sqlstate);
  error.message = inboxd_text(message);
  error.detail = inboxd_text(detail);
  return Failure{error};
}

}  // namespace

TEST_CASE("a violated constraint is retried, with its name and SQLSTATE and without values") {
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

TEST_CASE("a function asks for a retry with IR001, the delay in DETAIL, and for a dead letter with ID001") {
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
    CHECK_THAT(outcome.message, ContainsSubstring("not a duration"));
  }
}

TEST_CASE("permanent SQLSTATEs and classes of them are dead-lettered at once") {
  const Permanent permanent{R"(["22","23505"])"};
  CHECK(outcome_of(failure("22P02", "no number"), permanent).kind == INBOXD_DEAD);
  CHECK(outcome_of(failure("23505", "twice"), permanent).kind == INBOXD_DEAD);
  CHECK(outcome_of(failure("23503", "no parent"), permanent).kind == INBOXD_RETRY);
  CHECK(Permanent{"[22]"}.has("22003"));
  CHECK_FALSE(Permanent{"[]"}.has("22003"));
  CHECK_THROWS_AS(Permanent{"[\"2\"]"}, inboxd::SettingsError);
  CHECK_THROWS_AS(Permanent{"[\"unique_violation\"]"}, inboxd::SettingsError);
}

TEST_CASE("a failed call is bisected only if an event can be the cause") {
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

TEST_CASE("a payload that is not JSON is dead at once, with the reason and the remedy") {
  const auto outcome = outcome_of(failure("IJ001", "the payload is not JSON: it is too deep"), {});
  CHECK(outcome.kind == INBOXD_DEAD);
  CHECK(outcome.error_class == "sql.not_json");
  CHECK_THAT(outcome.message, ContainsSubstring("it is too deep") && ContainsSubstring("body: optional"));
}
