#include "inbox/database_error.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <new>
#include <vector>

namespace inboxd::inbox {

TEST_CASE("of what the server says its sentence is kept, in any language: what follows may quote data") {
  CHECK(sentence_of("Failure during '[PREPARE op_shards]': FEHLER:  42P01: Relation \"inbox.shard\" existiert nicht\n"
                    "ZEILE 6: from inbox.shard s\n              ^\nORT:  parserOpenTable, parse_relation.c:1371\n",
                    "42P01") == "Relation \"inbox.shard\" existiert nicht");
  CHECK(
      sentence_of("ERROR:  22P05: unsupported Unicode escape sequence\nDETAIL:  \\u0000 cannot be converted to text.\n"
                  "CONTEXT:  JSON data, line 1: {\"card\":\"4111...\n",
                  "22P05") == "unsupported Unicode escape sequence");
}

TEST_CASE("without SQLSTATE what was said becomes one line") {
  CHECK(sentence_of("connection to server at \"a\", port 1 failed: refused\n\tIs the server running?\n", "") ==
        "connection to server at \"a\", port 1 failed: refused Is the server running?");
}

TEST_CASE("an SQLSTATE means one thing, and only what is on a list is poison") {
  const std::map<Fault, std::vector<std::string_view>> meanings{
      {Fault::poison, {"22001", "22003", "22007", "22008", "22021", "22023", "22P02", "22P03", "22P05", "54000"}},
      {Fault::retry, {"40000", "40001", "40P01", "53000", "53100", "53200", "53300", "55006", "55P03", "57014"}},
      {Fault::reconnect,
       {"08000", "08001", "08003", "08004", "08006", "08P01", "57P01", "57P02", "57P03", "57P05", "25006", "25P03",
        "26000", "42P05", ""}},
      {Fault::in_doubt, {"08007", "40003"}},
      // A broken schema brings these about as well as data may: what is good must not go to quarantine for it.
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

TEST_CASE("what is no error of the database is a fault to be tried again and said, for those who ask for that") {
  const auto thrown = std::make_exception_ptr(std::bad_alloc{});
  CHECK_THROWS_AS(describe(thrown), std::bad_alloc);
  const auto failure = describe_any(thrown);
  CHECK(failure.fault == Fault::stop);
  CHECK(failure.message == "no error of the database: std::bad_alloc");
}

}  // namespace inboxd::inbox
