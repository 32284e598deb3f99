#include "inbox/database_error.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <new>
#include <variant>
#include <vector>

#include "inbox/answer.hpp"

namespace inboxd::inbox {

TEST_CASE("sentence_of keeps the server's sentence in any language, without details that may quote data") {
  CHECK(sentence_of("Failure during '[PREPARE op_shards]': FEHLER:  42P01: Relation \"inbox.shard\" existiert nicht\n"
                    "ZEILE 6: from inbox.shard s\n              ^\nORT:  parserOpenTable, parse_relation.c:1371\n",
                    "42P01") == "Relation \"inbox.shard\" existiert nicht");
  CHECK(
      sentence_of("ERROR:  22P05: unsupported Unicode escape sequence\nDETAIL:  \\u0000 cannot be converted to text.\n"
                  "CONTEXT:  JSON data, line 1: {\"card\":\"4111...\n",
                  "22P05") == "unsupported Unicode escape sequence");
}

TEST_CASE("sentence_of joins the lines of a message without SQLSTATE") {
  CHECK(sentence_of("connection to server at \"a\", port 1 failed: refused\n\tIs the server running?\n", "") ==
        "connection to server at \"a\", port 1 failed: refused Is the server running?");
}

TEST_CASE("each SQLSTATE has one fault, and only listed SQLSTATEs are poison") {
  const std::map<Fault, std::vector<std::string_view>> meanings{
      {Fault::poison, {"22001", "22003", "22007", "22008", "22021", "22023", "22P02", "22P03", "22P05", "54000"}},
      {Fault::retry, {"40000", "40001", "40P01", "53000", "53100", "53200", "53300", "55006", "55P03", "57014"}},
      {Fault::reconnect,
       {"08000", "08001", "08003", "08004", "08006", "08P01", "57P01", "57P02", "57P03", "57P05", "25006", "25P03",
        "26000", "42P05", ""}},
      {Fault::in_doubt, {"08007", "40003"}},
      // A broken schema can cause these as well as data: good events must not go to quarantine.
      {Fault::stop,
       {"22000", "22004", "22012", "23502", "23503", "23505", "23514", "25P02", "3F000", "42501", "42703", "42883",
        "42P01", "54001", "57000", "58030", "XX000"}}};
  for (const auto& [fault, states] : meanings) {
    for (const auto state : states) {
      CAPTURE(state);
      CHECK(name_of(fault_of(state)) == name_of(fault));
    }
  }
}

TEST_CASE("an exception from elsewhere counts as stop in a loop and passes through in a command") {
  const auto thrown = std::make_exception_ptr(std::bad_alloc{});
  CHECK_THROWS_AS(describe(thrown), std::bad_alloc);
  const auto failure = describe_any(thrown);
  CHECK(failure.fault == Fault::stop);
  CHECK(failure.message == "not a database error: std::bad_alloc");
  const auto fail = [] { throw std::bad_alloc{}; };
  CHECK(failure_of(fail)->fault == Fault::stop);
  CHECK_THROWS_AS(database_failure_of(fail), std::bad_alloc);
}

TEST_CASE("ask returns the result of a question or its failure") {
  CHECK(std::get<int>(ask([] { return 7; })) == 7);
  const auto answer = ask([]() -> int { throw DatabaseError{{Fault::retry, "40001", "try again"}}; });
  CHECK(std::get<DatabaseFailure>(answer).sqlstate == "40001");
  CHECK(!failure_of([] {}));
}

}  // namespace inboxd::inbox
