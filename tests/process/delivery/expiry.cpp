#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "process/support/daemon_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* expired = "select count(*) from inbox.dead_letters where state = 'expired'";

}  // namespace

TEST_CASE("an event that has waited too long is not called, but expires, and can be replayed") {
  const std::string mode = GENERATE("single", "sequential");
  DaemonFixture fixture{1};
  const std::string gate = fixture.recording.file().string() + ".gate";
  fixture.config.handlers[0].more = {"mode: " + mode, "concurrency: 1", "events_per_call: 1", "expire_after: 2s",
                                     "deadline: 30s"};
  fixture.set("gate", gate);
  const auto daemon = fixture.start();
  fixture.produce(30);
  fixture.wait_stored(30);
  fixture.database.wait_for("they are too old",
                            "select count(*) from inbox.event where received_at < clock_timestamp() - '2 s'::interval",
                            30);
  std::ofstream{gate} << "open";
  fixture.database.wait_for("those without a call have expired", expired, 29);
  CHECK(fixture.recording.count() == 1);
  CHECK(fixture.database.number("select count(*) from inbox.deliveries where state = 'expired' and attempts = 0") ==
        29);
  CHECK(fixture.database.number("select sum(inbox.count_of(offsets)) from inbox.outcome where outcome = 'expired'") ==
        29);
  const auto listed = command(fixture.config, {"dead", "list"});
  CHECK_THAT(listed.out, ContainsSubstring("expired"));
  const auto replayed = command(fixture.config, {"dead", "replay", "--handler", "recorder", "--yes"});
  CHECK(replayed.status == ExitStatus{0, 0});
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.recording.count() == 30);
}

TEST_CASE("no retry is planned for a time at which the event will have expired") {
  DaemonFixture fixture{1};
  fixture.config.handlers[0].more = {"expire_after: 1h", "retry: {backoff: fixed, base: 2h, jitter: 0}"};
  fixture.set("fail_type", "Bad");
  const auto daemon = fixture.start();
  fixture.produce(3, "Bad");
  fixture.database.wait_for("they have expired after one attempt",
                            expired + std::string{" and attempts = 1 and error_class = 'test.failure'"}, 3);
  CHECK(fixture.database.number("select count(*) from inbox.delivery") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.failure where attempt = 1") == 3);
}
