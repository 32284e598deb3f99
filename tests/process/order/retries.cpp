#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "process/support/order_fixture.hpp"

using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// From storing to the outcome, in ms, of the slowest event of the keys.
std::int64_t max_wait(DaemonFixture& fixture, const std::string& keys) {
  return fixture.database.number(
      "select max(1000 * extract(epoch from o.finished_at - e.received_at))::bigint from inbox.event e "
      "join inbox.outcome o on o.shard_id = e.shard_id and o.offsets @> e.\"offset\" "
      "where convert_from(e.key, 'UTF8') like '" +
      keys + "'");
}

}  // namespace

// fault: 20,000 blocked keys
TEST_CASE("keys that fail again and again do not hold up fresh events of other keys", "[alone]") {
  OrderFixture fixture{2, {"concurrency: 2", "retry: {backoff: fixed, base: 1h, jitter: 0, max_attempts: 1000}"}};
  const std::string mode = GENERATE("sequential", "single");
  CAPTURE(mode);
  auto& settings = fixture.config.handlers[0].more;
  settings[0] = "mode: " + mode;
  fixture.set("fail_type", "Fails");
  const int failing = is_long() ? 20'000 : 4'000;
  auto daemon = fixture.start();
  fixture.events.produce(failing, [](int i) { return KeyedEvents::Made{"failing" + std::to_string(i), "Fails"}; });
  fixture.database.wait_for("all have failed", "select count(*) from inbox.failure", failing);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.database.run("update inbox.delivery set due_at = clock_timestamp() where due_at < 'infinity'");
  // From now on there are ten times as many retries as calls, so each waits for ten times its delay.
  settings.back() = std::string{"retry: {backoff: fixed, base: "} + (is_long() ? "5s" : "1s") +
                    ", jitter: 0, max_attempts: 1000}";
  fixture.set("takes", "5ms");
  daemon = fixture.start();
  fixture.database.wait_for("some have failed again",
                            "select (count(*) > " + std::to_string(failing + 200) + ")::int from inbox.failure", 1);
  constexpr int fresh = 500;
  const auto calls_before = fixture.recording.count();
  for (int i = 0; i < fresh / 20; ++i) {
    fixture.events.produce(20, [&](int k) { return KeyedEvents::Made{"key" + std::to_string(i * 20 + k)}; });
    std::this_thread::sleep_for(200ms);
  }
  fixture.database.wait_for(
      "fresh events are done", "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome", fresh);
  const auto longest = max_wait(fixture, "key%");
  WARN(mode << ": " << fresh << " fresh events, among " << fixture.recording.count() - calls_before
            << " calls; the slowest took " << longest << " ms");
  CHECK(longest < 5'000);
  if (mode == "sequential") CHECK(fixture.events.out_of_order() == "");
}
