#include "handlers/sql/bisection.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

using namespace sql_handler;

namespace {

/// A database on which a statement fails if any of its events is poison. Counts the requests.
struct FakeDatabase : inboxd_call {
  explicit FakeDatabase(std::size_t size) : inboxd_call{}, said(size), wrote(size) {
    verdict = [](inboxd_call* call, std::size_t index, const inboxd_verdict* its) {
      of(call).said.at(index) = its->outcome;
    };
    is_cancelled = [](const inboxd_call* call) { return static_cast<const FakeDatabase*>(call)->cancelled; };
    deadline_ms_left = [](const inboxd_call* call) { return static_cast<const FakeDatabase*>(call)->time_left; };
    sql.execute = execute;
    sql.release = [](inboxd_call*, const inboxd_sql_result*) {};
    sql.savepoint = [](inboxd_call* call) { return static_cast<std::int32_t>(++of(call).savepoints); };
    sql.release_savepoint = [](inboxd_call* call, std::int32_t) { ++of(call).released; };
    sql.rollback_to = [](inboxd_call* call, std::int32_t) { ++of(call).rolled_back; };
    sql.state = [](inboxd_call* call) -> std::int32_t { return of(call).over ? INBOXD_SQL_OVER : INBOXD_SQL_READY; };
    result.error = nullptr;
    error.message = inboxd_text("refused");
  }

  static FakeDatabase& of(inboxd_call* call) { return *static_cast<FakeDatabase*>(call); }

  static const inboxd_sql_result* execute(inboxd_call* call, const inboxd_sql_statement* statement) {
    FakeDatabase& self = of(call);
    ++self.statements;
    self.events += statement->count;
    const auto poison = self.poison.lower_bound(statement->first);
    const bool fails = poison != self.poison.end() && *poison < statement->first + statement->count;
    const bool repeats = self.statements == self.repeat_at;
    self.error.sqlstate = inboxd_text(repeats ? "40P01" : self.sqlstate.c_str());
    self.error.will_repeat = repeats ? 1 : 0;
    self.error.not_run = self.not_run ? 1 : 0;
    self.result.error = fails || repeats ? &self.error : nullptr;
    for (std::size_t i = 0; self.result.error == nullptr && i < statement->count; ++i) {
      ++self.wrote[statement->first + i];
    }
    return &self.result;
  }

  void run() {
    const Statement statement = from_statement("insert into t select event_id from events");
    const Permanent permanent;
    Bisection{this, sql, statement, permanent}.run(said.size());
  }

  inboxd_sql sql{};
  inboxd_sql_result result{};
  inboxd_sql_error error{};
  std::set<std::size_t> poison;
  std::string sqlstate = "23505";
  std::size_t repeat_at = 0;
  bool not_run = false;
  bool over = false;
  std::int64_t time_left = 1000;
  bool cancelled = false;
  std::vector<int> said;   ///< 0: no verdict
  std::vector<int> wrote;  ///< how often the event's row was written
  std::size_t statements = 0, events = 0, savepoints = 0, released = 0, rolled_back = 0;
};

}  // namespace

TEST_CASE("a call without a failure is a single statement") {
  FakeDatabase database{500};
  database.run();
  CHECK(database.statements == 1);
  CHECK(database.said == std::vector<int>(500, INBOXD_DONE));
  CHECK(database.savepoints == database.released);
}

TEST_CASE("a call of a single event sets no savepoint") {
  FakeDatabase database{1};
  database.poison = {0};
  database.run();
  CHECK(database.savepoints == 0);
  CHECK(database.said[0] == INBOXD_RETRY);
}

TEST_CASE("a culprit costs a logarithmic number of statements; the others are written once and not charged") {
  for (std::size_t culprit = 0; culprit < 500; ++culprit) {
    FakeDatabase database{500};
    database.poison = {culprit};
    database.run();
    std::vector<int> wanted(500, INBOXD_DONE), rows(500, 1);
    wanted[culprit] = INBOXD_RETRY;
    rows[culprit] = 0;
    REQUIRE(database.said == wanted);
    REQUIRE(database.wrote == rows);
    REQUIRE(database.statements <= 1 + 2 * 9);
    REQUIRE(database.events <= 3 * 500);
    REQUIRE(database.savepoints == database.released + database.rolled_back);
  }
}

TEST_CASE("several culprits are charged, all others are done") {
  FakeDatabase database{500};
  database.poison = {0, 1, 77, 250, 499};
  database.run();
  for (std::size_t i = 0; i < 500; ++i)
    CHECK(database.said[i] == (database.poison.count(i) ? INBOXD_RETRY : INBOXD_DONE));
  CHECK(database.statements < 1 + 5 * 2 * 9);
}

TEST_CASE("events that fail only together are both done") {
  FakeDatabase database{2};  // such as two upserts of the same key: the halves never meet
  database.sql.execute = [](inboxd_call* call, const inboxd_sql_statement* statement) -> const inboxd_sql_result* {
    auto& self = FakeDatabase::of(call);
    ++self.statements;
    self.error.sqlstate = inboxd_text("21000");
    self.result.error = statement->count > 1 ? &self.error : nullptr;
    return &self.result;
  };
  database.run();
  CHECK(database.said == std::vector<int>{INBOXD_DONE, INBOXD_DONE});
}

TEST_CASE("a statement that does not fit the database is not bisected") {
  FakeDatabase database{500};
  database.poison = {3};
  database.sqlstate = "42P01";
  database.not_run = true;
  database.run();
  CHECK(database.statements == 1);
  CHECK(database.said == std::vector<int>(500, INBOXD_RETRY));
}

TEST_CASE("an event whose data looks like a wrong statement is charged alone") {
  for (const char* const sqlstate : {"42P01", "42601", "0A000", "57014", "53200"}) {
    INFO(sqlstate);
    FakeDatabase database{500};
    database.poison = {3};
    database.sqlstate = sqlstate;
    database.run();
    std::vector<int> wanted(500, INBOXD_DONE);
    wanted[3] = INBOXD_RETRY;
    CHECK(database.said == wanted);
  }
}

TEST_CASE("once the transaction repeats or is over, nothing more runs and the rest gets no verdict") {
  FakeDatabase repeated{500};
  repeated.poison = {400};
  repeated.repeat_at = 3;
  repeated.run();
  CHECK(repeated.statements == 3);
  CHECK(repeated.said[499] == 0);
  FakeDatabase over{500};
  over.poison = {400};
  over.over = true;
  over.run();
  CHECK(over.statements == 1);
  CHECK(over.said == std::vector<int>(500, 0));
}

TEST_CASE("past the deadline the next half still runs: its failure makes the daemon call the events singly") {
  FakeDatabase database{500};
  database.poison = {400};
  database.cancelled = true;
  database.time_left = 0;
  database.run();
  CHECK(database.statements > 2);
}

TEST_CASE("a cancelled call stops between two halves") {
  FakeDatabase database{500};
  database.poison = {400};
  database.cancelled = true;
  database.run();
  CHECK(database.statements == 2);
  CHECK(database.said[0] == INBOXD_DONE);
  CHECK(database.said[499] == 0);
}
