// Answers for failed statements, and the work in batches.
#include "operations/operation.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using namespace inboxd::operations;
using base::ExitCode;
using inbox::Fault;

TEST_CASE("each kind of database failure has an exit status of its own") {
  CHECK(answer_for({Fault::stop, "42501", "x"}, "host=a").code == ExitCode::not_allowed);
  CHECK(answer_for({Fault::stop, "42P01", "x"}, "host=a").code == ExitCode::try_again);
  CHECK(answer_for({Fault::reconnect, "", "x"}, "host=a").code == ExitCode::unavailable);
  CHECK(answer_for({Fault::in_doubt, "", "x"}, "host=a").code == ExitCode::unavailable);
  CHECK(answer_for({Fault::retry, "40P01", "x"}, "host=a").code == ExitCode::try_again);
  CHECK(answer_for({Fault::stop, "25000", "x"}, "host=a").code == ExitCode::configuration);
  const std::string no_space = "could not write init file";  // at a login
  CHECK(answer_for({Fault::stop, "XX000", no_space}, "host=a").code == ExitCode::unavailable);
  CHECK(answer_for({Fault::stop, "XX000", no_space}, "host=a").message ==
        "database host=a: no disk space left on its server: " + no_space +
            "; free some: the daemon waits and loses nothing");
  CHECK(answer_for({Fault::stop, "42601", "x"}, "host=a").code == ExitCode::bug);
}

TEST_CASE("the message names the database and the remedy") {
  CHECK(answer_for({Fault::stop, "42P01", "no shard"}, "host=a").message ==
        "database host=a: the schema is missing or older than this program: no shard; run `inboxd migrate`");
  CHECK(answer_for({Fault::reconnect, "", "x"}, "").message == "database (from PG* variables): not reached: x");
}
