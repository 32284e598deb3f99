// What a failed statement means to the person who asked.
#include "admin/failure.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using base::ExitCode;
using inbox::Fault;

TEST_CASE(
    "rights, a missing inbox, stale snapshots, a server that is away and a busy one end with statuses of their own") {
  CHECK(admin::answer_for({Fault::stop, "42501", "x"}, "host=a").code == ExitCode::not_allowed);
  CHECK(admin::answer_for({Fault::stop, "42P01", "x"}, "host=a").code == ExitCode::try_again);
  CHECK(admin::answer_for({Fault::reconnect, "", "x"}, "host=a").code == ExitCode::unavailable);
  CHECK(admin::answer_for({Fault::in_doubt, "", "x"}, "host=a").code == ExitCode::unavailable);
  CHECK(admin::answer_for({Fault::retry, "40P01", "x"}, "host=a").code == ExitCode::try_again);
  CHECK(admin::answer_for({Fault::stop, "25000", "x"}, "host=a").code == ExitCode::configuration);
  CHECK(admin::answer_for({Fault::stop, "42601", "x"}, "host=a").code == ExitCode::bug);
}

TEST_CASE("the message names the database, and what to do") {
  CHECK(admin::answer_for({Fault::stop, "42P01", "no shard"}, "host=a").message ==
        "database host=a: the inbox is not there, or older than this program: no shard; run `inboxd migrate`");
  CHECK(admin::answer_for({Fault::reconnect, "", "x"}, "").message ==
        "database (from PG* variables): not reached: x");
}
