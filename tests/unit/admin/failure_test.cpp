// What a failed statement means to the person who asked.
#include "admin/failure.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using base::ExitCode;
using inbox::Fault;

TEST_CASE("rights, a missing inbox, a server that is away and a busy one end with statuses of their own") {
  CHECK(admin::answer_for({Fault::stop, "42501", "x"}, "host=a").code == ExitCode::not_allowed);
  CHECK(admin::answer_for({Fault::stop, "42P01", "x"}, "host=a").code == ExitCode::try_again);
  CHECK(admin::answer_for({Fault::reconnect, "", "x"}, "host=a").code == ExitCode::unavailable);
  CHECK(admin::answer_for({Fault::in_doubt, "", "x"}, "host=a").code == ExitCode::unavailable);
  CHECK(admin::answer_for({Fault::retry, "40P01", "x"}, "host=a").code == ExitCode::try_again);
  CHECK(admin::answer_for({Fault::stop, "42601", "x"}, "host=a").code == ExitCode::bug);
}

TEST_CASE("the message has the server's sentence, in any language, and none of its decoration") {
  const std::string said =
      "Failure during '[PREPARE op_shards]': FEHLER:  42P01: Relation \"inbox.shard\" existiert nicht\n"
      "ZEILE 6: from inbox.shard s\n              ^\nORT:  parserOpenTable, parse_relation.c:1371\n";
  CHECK(admin::answer_for({Fault::stop, "42P01", said}, "host=a").message ==
        "database host=a: the inbox is not there, or older than this program: Relation \"inbox.shard\" existiert "
        "nicht; run `inboxd migrate`");
}

TEST_CASE("a message without SQLSTATE becomes one line") {
  const std::string said = "connection to server at \"a\", port 1 failed: refused\n\tIs the server running?\n";
  CHECK(admin::answer_for({Fault::reconnect, "", said}, "host=a port=1").message ==
        "database host=a port=1: not reached: connection to server at \"a\", port 1 failed: refused Is the server "
        "running?");
  CHECK(admin::answer_for({Fault::reconnect, "", "x"}, "").message ==
        "database (from PG* variables): not reached: x");
}
