#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "process/support/order_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// From storing to the outcome, in ms, at the 99th percentile.
std::int64_t latency_of(DaemonFixture& fixture, const std::string& keys) {
  return fixture.database.number(
      "select (percentile_cont(0.99) within group (order by 1000 * extract(epoch from o.finished_at - e.received_at))"
      ")::bigint from inbox.event e join inbox.outcome o on o.shard_id = e.shard_id and o.offsets @> e.\"offset\" "
      "where convert_from(e.key, 'UTF8') like '" +
      keys + "'");
}

/// Starts the daemon again whenever it has crashed.
int run_through_crashes(DaemonFixture& fixture, std::unique_ptr<DaemonProcess>& daemon,
                        const std::function<bool()>& is_over) {
  int crashes = 0;
  wait_until(
      "all events have an outcome",
      [&] {
        if (!daemon->process().is_running()) {
          ++crashes;
          daemon = std::make_unique<DaemonProcess>(fixture.config);  // it may crash before it is ready
        }
        return is_over();
      },
      milliseconds{120'000}, [&] { return fixture.counts().text() + ", " + std::to_string(crashes) + " crashes"; });
  return crashes;
}

}  // namespace

// fault: several suspects after a crash, in several partitions
TEST_CASE("an event that crashes its instance is dead alone, whatever runs in other partitions") {
  OrderFixture fixture{3};
  fixture.config.sections["handler_defaults"] = "lease: 1s";
  fixture.set("crash_type", "Deadly");
  fixture.set("takes", "20ms");
  fixture.set("takes_type", "Happened");
  const std::vector<std::string> keys{"a", "null", "b", "c"};
  fixture.events.produce(12, [&](int i) {
    const std::string& key = keys.at(static_cast<std::size_t>(i) % keys.size());
    return KeyedEvents::Made{key, i == 1 ? "Deadly" : "Happened"};
  });
  auto daemon = fixture.start();
  const int crashes = run_through_crashes(fixture, daemon, [&] {
    const auto counts = fixture.counts();
    return counts.done + counts.dead == 12;
  });
  const auto counts = fixture.counts();
  WARN(crashes << " crashes: " << counts.text());
  CHECK(counts.dead == 1);
  CHECK(counts.done == 11);
  CHECK(fixture.events.out_of_order() == "");
}

// fault: a crash loop
TEST_CASE("the line of a crash names signal, handler and event, and status names the event") {
  OrderFixture fixture{1};
  fixture.config.sections["handler_defaults"] = "lease: 1s, max_crashes: 50";
  fixture.set("crash_type", "Deadly");
  fixture.events.produce(1, [&](int) { return KeyedEvents::Made{"null", "Deadly"}; });
  auto daemon = std::make_unique<DaemonProcess>(fixture.config);  // it may crash before it is ready
  wait_until("it has crashed", [&] { return !daemon->process().is_running(); });
  const std::string line = "daemon: process crashed signal=SIGABRT handler=recorder topic=" + fixture.topic +
                           " partition=0 offset=0 event_id=" + fixture.ids().at(0) + " attempt=1 events=1";
  CHECK(daemon->count_in_log(line) == 1);
  int crashes = 1;
  while (crashes < 4) {
    daemon = std::make_unique<DaemonProcess>(fixture.config);
    wait_until("it has crashed", [&] { return !daemon->process().is_running(); });
    ++crashes;
  }
  fixture.database.run("update inbox.instance set last_seen_at = last_seen_at - interval '1 min'");
  const auto status = command(fixture.config, {"status", "--json"});
  CAPTURE(status.out, status.err);
  CHECK(status.status == ExitStatus{1, 0});
  CHECK(status.out.find(" has crashed 4 times within 1 minute; in flight each time: recorder " + fixture.topic +
                        "/0/0") != std::string::npos);
  CHECK(status.out.find("inboxd events skip " + fixture.ids().at(0) + " --handler recorder") != std::string::npos);
}

TEST_CASE("a crash outside of calls leaves a line with the stack of its thread") {
  OrderFixture fixture{1};
  const auto daemon = fixture.start();
  daemon->process().signal(SIGSEGV);
  wait_until("it has ended", [&] { return !daemon->process().is_running(); });
  CHECK(daemon->count_in_log("daemon: process crashed signal=SIGSEGV frames=0x") == 1);
}

TEST_CASE("status says how many events a killed daemon holds, and until when") {
  OrderFixture fixture{1};
  fixture.config.sections["handler_defaults"] = "lease: 1h";
  fixture.set("takes", "1h");
  auto daemon = fixture.start();
  fixture.events.produce(3, [](int i) { return KeyedEvents::Made{"key" + std::to_string(i)}; });
  fixture.database.wait_for("all are leased",
                            "select coalesce(sum(events), 0) from inbox.delivery where owner is not null", 3);
  CHECK(command(fixture.config, {"status"}).out.find("daemons that have gone") == std::string::npos);
  daemon->kill();
  fixture.database.run("update inbox.instance set last_seen_at = last_seen_at - interval '1 min'");
  const auto status = command(fixture.config, {"status"});
  CAPTURE(status.out, status.err);
  CHECK(status.out.find("3 events of handler recorder are leased by daemons that have gone, until 20") !=
        std::string::npos);
}

TEST_CASE("instances killed at random delay events of keys that never failed by less than three leases") {
  const auto seed = Catch::getSeed();
  CAPTURE(seed);
  std::mt19937 random{static_cast<unsigned>(seed)};
  OrderFixture fixture{6, {"retry: {backoff: fixed, base: 200ms, jitter: 0}"}};
  constexpr int lease_ms = 5'000;
  fixture.config.sections["handler_defaults"] = "lease: 5s";
  std::vector<std::unique_ptr<DaemonProcess>> daemons;
  for (int i = 0; i < 3; ++i) daemons.push_back(fixture.start());
  const auto end = monotonic_ms() + (is_long() ? 120'000 : 20'000);
  auto next_kill = monotonic_ms() + 2'000;
  int kills = 0;
  while (monotonic_ms() < end) {
    fixture.events.produce(50, [&](int) {
      if (random() % 10 < 3) return KeyedEvents::Made{"hot"};
      const std::string kind = random() % 10 < 1 ? "bad" : "key";
      const bool fails = kind == "bad" && random() % 10 < 3;
      return KeyedEvents::Made{kind + std::to_string(random() % 5'000),
                               fails ? "Fails" + std::to_string(1 + random() % 3) : "Happened"};
    });
    std::this_thread::sleep_for(100ms);
    if (monotonic_ms() < next_kill) continue;
    auto& victim = daemons.at(random() % daemons.size());
    victim->kill();
    victim = fixture.start();
    ++kills;
    next_kill = monotonic_ms() + 2'000 + static_cast<std::int64_t>(random() % 3'000);
  }
  const auto counts = fixture.wait_done("recorder", milliseconds{120'000});
  const auto latency = latency_of(fixture, "key%");
  WARN(kills << " kills: " << counts.text() << "; keys that never failed waited " << latency << " ms at p99");
  CHECK(counts.is_perfect());
  CHECK(fixture.events.out_of_order() == "");
  if (is_long()) CHECK(latency <= 3 * lease_ms);
}
