#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "process/support/order_fixture.hpp"

using namespace inboxd::support;
using namespace std::chrono_literals;

TEST_CASE("keys that fail again and again do not hold up fresh events of other keys") {
  OrderFixture fixture{2, {"concurrency: 2", "retry: {backoff: fixed, base: 1s, jitter: 0, max_attempts: 1000}"}};
  const std::string mode = GENERATE("sequential", "single");
  CAPTURE(mode);
  fixture.config.handlers[0].more[0] = "mode: " + mode;
  fixture.set("takes", "5ms");
  fixture.set("fail_type", "Fails");
  constexpr int failing = 1'500;  // far more retries than calls in a second
  const auto daemon = fixture.start();
  fixture.events.produce(failing, [](int i) { return KeyedEvents::Made{"failing" + std::to_string(i), "Fails"}; });
  fixture.database.wait_for("all have failed, and some again", "select (count(*) > 2000)::int from inbox.failure", 1);
  constexpr int fresh = 500;
  const auto calls_before = fixture.recording.count();
  const auto failures = fixture.database.number("select count(*) from inbox.failure");
  for (int i = 0; i < fresh / 50; ++i) {
    fixture.events.produce(50, [&](int k) { return KeyedEvents::Made{"key" + std::to_string(i * 50 + k)}; });
    std::this_thread::sleep_for(200ms);
  }
  fixture.database.wait_for("fresh events are done",
                            "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome",
                            fresh);
  const auto retries = fixture.database.number("select count(*) from inbox.failure") - failures;
  WARN(fresh << " fresh events beside " << retries << " retries, in " << fixture.recording.count() - calls_before
             << " calls");
  CHECK(retries < 6 * fresh);
  if (mode == "sequential") CHECK(fixture.events.out_of_order() == "");
}
