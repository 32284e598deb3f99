#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/daemon_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A handler whose events of type Bad fail with class test.failure, and events of type Hopeless are dead with
/// test.dead.
struct Ruled : DaemonFixture {
  explicit Ruled(const std::string& rules, const std::string& mode = "single") : DaemonFixture{1} {
    config.handlers[0].more = {
        "mode: " + mode, "retry: {max_attempts: 3, backoff: fixed, base: 100ms, jitter: 0, rules: " + rules + "}"};
    set("fail_type", "Bad");
    set("dead_type", "Hopeless");
  }
  std::int64_t dead(int attempts) {
    return database.number("select count(*) from inbox.dead_letters where attempts = " + std::to_string(attempts));
  }
};

}  // namespace

TEST_CASE("a rule makes errors of a class dead at once, or retries errors with which a handler gave up") {
  Ruled fixture{"[{error: test.dead, then: retry}, {error: \"test.*\", then: dead}]"};
  const auto daemon = fixture.start();
  fixture.produce(2, "Bad");
  fixture.produce(3, "Hopeless");
  fixture.produce(4);
  fixture.database.wait_for("they are dead", "select count(*) from inbox.dead_letters", 5);
  CHECK(fixture.dead(1) == 2);
  CHECK(fixture.dead(3) == 3);
  CHECK(fixture.recording.count() == 2 + 3 * 3 + 4);
}

TEST_CASE("a rule pauses the handler at an error, without a charge, and it goes on once that is mended") {
  const std::string mode = GENERATE("single", "sequential");
  Ruled fixture{"[{error: test.failure, then: pause}]", mode};
  auto daemon = fixture.start();
  fixture.produce(1, "Bad");
  fixture.database.wait_for(
      "the handler is paused",
      "select count(*) from inbox.handler where paused_reason like 'retry.rules: test.failure: %'", 1);
  const auto status = command(fixture.config, {"status"});
  CHECK(status.status == ExitStatus{1, 0});
  CHECK_THAT(status.out, ContainsSubstring("has paused itself: retry.rules: test.failure"));
  CHECK_THAT(status.out, ContainsSubstring("inboxd handlers resume recorder"));
  fixture.produce(5);
  fixture.wait_stored(6);
  fixture.database.wait_for("the event is given back",
                            "select count(*) from inbox.deliveries where state = 'due' and attempts = 0", 6);
  daemon->stop();
  fixture.set("fail_type", "Other");
  daemon = fixture.start();
  fixture.database.run("select inbox.resume_handler('recorder')");
  CHECK(fixture.wait_done().is_perfect());
}
