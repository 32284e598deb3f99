#include "inbox/database_error.hpp"

#include <catch2/catch_test_macros.hpp>
#include <new>

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

TEST_CASE("what is no error of the database is a fault to be tried again and said, for those who ask for that") {
  const auto thrown = std::make_exception_ptr(std::bad_alloc{});
  CHECK_THROWS_AS(describe(thrown), std::bad_alloc);
  const auto failure = describe_any(thrown);
  CHECK(failure.fault == Fault::stop);
  CHECK(failure.message == "no error of the database: std::bad_alloc");
}

}  // namespace inboxd::inbox
