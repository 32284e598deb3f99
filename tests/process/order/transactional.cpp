#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>
#include <random>
#include <thread>

#include "process/support/application.hpp"
#include "process/support/order_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// Keeps the newest state of each key, and the history of all writes.
constexpr const char* keep_newest = R"(
with next as (
  insert into app.history (key, n)
  select key, (body->>'n')::int from events order by events."offset"
  returning key, n)
insert into app.state as s (key, n) select distinct on (key) key, n from next order by key, n desc
on conflict (key) do update set n = excluded.n)";

/// As keep_newest; every twentieth call fails.
constexpr const char* keep_newest_or_fail = R"(
with next as (
  insert into app.history (key, n)
  select key, (body->>'n')::int / (random() > 0.05)::int from events order by events."offset"
  returning key, n)
insert into app.state as s (key, n) select distinct on (key) key, n from next order by key, n desc
on conflict (key) do update set n = excluded.n)";

/// As keep_newest; an event fails at as many first attempts as its body says. A row per call.
constexpr const char* keep_newest_unless_told_to_fail = R"(
with next as (
  insert into app.history (key, n)
  select key, (body->>'n')::int / (attempt > (body->>'fails')::int)::int from events order by events."offset"
  returning key, n)
insert into app.state as s (key, n) select distinct on (key) key, n from next order by key, n desc
on conflict (key) do update set n = excluded.n)";

struct StateFixture : OrderFixture {
  explicit StateFixture(int partitions, std::vector<std::string> more, const char* statement = keep_newest)
      : OrderFixture{partitions} {
    app.run("create table app.history (id bigint generated always as identity, key text, n int)");
    app.run("create table app.state (key text primary key, n int)");
    more.insert(more.begin(), "mode: sequential");
    config.handlers = {app.statement("newest", statement, std::move(more))};
  }

  /// Events with the keys that `key` names; each has its number among its key's events in the body.
  void produce(int count, const std::function<std::string(int)>& key,
               const std::function<int(int)>& failures = [](int) { return 0; }) {
    events.produce(count, [&](int i) {
      const std::string of = key(i);
      return KeyedEvents::Made{of, "Happened",
                               "{\"n\": " + std::to_string(next_[of]++) + ", \"fails\": " +
                                   std::to_string(failures(i)) + ", \"key\": \"" + of + "\"}"};
    });
  }

  /// The keys with another history than 0, 1, 2 … or with another state than the last.
  std::int64_t wrong_keys() {
    return std::stoll(
        app.text("select count(*) from (select key, array_agg(n order by id) as calls, max(n) as last from app.history "
                 "group by key) h join app.state s using (key) where calls <> array(select generate_series(0, last)) "
                 "or s.n <> last"));
  }

  Application app{database};

 private:
  std::map<std::string, int> next_;
};

void check_end(const ExitStatus& status) {
  CAPTURE(status.code, status.signal);
  CHECK(status == ExitStatus{0, 0});
}

}  // namespace

TEST_CASE("upserts of the newest state of a key by eight workers end with the last state, without a deadlock") {
  StateFixture fixture{4, {"concurrency: 8", "events_per_call: 50"}};
  fixture.produce(6'000, [](int i) { return "key" + std::to_string(i % 3); });
  const auto daemon = fixture.start();
  REQUIRE(fixture.wait_done("newest").is_perfect());
  CHECK(fixture.wrong_keys() == 0);
  CHECK(daemon->count_in_log("sqlstate=40P01") == 0);
}

// fault: owner of a sequence killed in a call
// fault: owner stopped (SIGSTOP) past its lease, then woken
TEST_CASE("each key is written in order, once, while three instances are killed, frozen or stopped, and none aborts") {
  std::mt19937 random{Catch::getSeed()};
  StateFixture fixture{6,
                       {"concurrency: 4", "events_per_call: 1", "max_crashes: 100",
                        "retry: {backoff: fixed, base: 200ms, jitter: 0}"},
                       keep_newest_unless_told_to_fail};
  fixture.config.kafka["session.timeout.ms"] = "2000";
  fixture.migrate();
  std::array<std::unique_ptr<DaemonProcess>, 3> daemons;
  for (auto& daemon : daemons) daemon = fixture.start();
  std::array<int, 3> disturbances{};
  const auto disturb = [&](std::unique_ptr<DaemonProcess>& victim) {
    const auto kind = random() % 3;
    ++disturbances.at(kind);
    if (kind == 0) {
      victim->kill();
    } else if (kind == 1) {
      victim->wait_ready();  // it may have started just now
      check_end(victim->stop());
    } else {  // past the lease and the membership, or not
      victim->process().signal(SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds{random() % 4'000});
      return victim->process().signal(SIGCONT);
    }
    victim = std::make_unique<DaemonProcess>(fixture.config);  // joins while the others are disturbed
  };
  int produced = 0;
  const int rounds = is_long() ? 100 : 4;
  for (int round = 0; round < rounds; ++round) {
    for (int burst = 0; burst < 10; ++burst) {  // about 500 events/s
      fixture.produce(
          50, [&](int) { return random() % 10 < 3 ? std::string{"hot"} : "key" + std::to_string(random() % 5'000); },
          [&](int) { return random() % 100 < 3 ? static_cast<int>(1 + random() % 3) : 0; });
      std::this_thread::sleep_for(100ms);
    }
    produced += 500;
    for (auto count = 1 + random() % 2; count > 0; --count) disturb(daemons.at(random() % daemons.size()));
    for (auto& daemon : daemons) {
      if (!daemon->process().is_running()) check_end(daemon->process().wait());  // it aborted, say
    }
  }
  const auto counts = fixture.wait_done("newest", is_long() ? 300'000ms : 90'000ms);
  WARN(rounds << " rounds, " << produced << " events, " << disturbances[0] << " kills, " << disturbances[1]
              << " stops, " << disturbances[2] << " freezes: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.wrong_keys() == 0);
  for (auto& daemon : daemons) {
    daemon->wait_ready();
    check_end(daemon->stop());
  }
}

// fault: mode, order key or scope of a handler changes beside other instances, under failing load
TEST_CASE("each key is written in order, once, while order settings change during failing calls of other instances") {
  const unsigned seed = std::random_device{}();
  WARN("seed " << seed);
  std::mt19937 random{seed};
  const std::vector<std::string> common{"concurrency: 4", "events_per_call: 5",
                                        "retry: {max_attempts: 1000, backoff: fixed, base: 100ms, jitter: 0}"};
  StateFixture fixture{6, common, keep_newest_or_fail};
  const std::array<std::string, 3> orders{"order_scope: partition", "order_scope: handler", "order_by: json:/key"};
  fixture.migrate();
  std::array<std::unique_ptr<DaemonProcess>, 3> daemons;
  for (auto& daemon : daemons) daemon = fixture.start();
  const auto original = fixture.config.handlers[0].more;
  int refused = 0;
  for (int round = 0; round < (is_long() ? 60 : 6); ++round) {
    fixture.produce(
        400, [&](int) { return random() % 10 < 3 ? std::string{"hot"} : "key" + std::to_string(random() % 200); });
    fixture.config.handlers[0].more = original;
    fixture.config.handlers[0].more.push_back(orders.at((static_cast<std::size_t>(round) + 1) % orders.size()));
    for (auto& daemon : daemons) {
      std::this_thread::sleep_for(std::chrono::milliseconds{random() % 400});
      if (random() % 2 == 0) {
        refused += daemon->count_in_log("reload refused");
        CHECK(daemon->stop() == ExitStatus{0, 0});
        daemon = fixture.start();
      } else {
        const int before = daemon->count_in_log("daemon: reloaded") + daemon->count_in_log("reload refused");
        daemon->write_config(fixture.config.text());
        daemon->process().signal(SIGHUP);
        wait_until("the reload ends", [&] {
          return daemon->count_in_log("daemon: reloaded") + daemon->count_in_log("reload refused") > before;
        });
      }
    }
  }
  CHECK(fixture.wait_done("newest", 120'000ms).is_perfect());
  CHECK(fixture.wrong_keys() == 0);
  for (const auto& daemon : daemons) refused += daemon->count_in_log("reload refused");
  CHECK(refused == 0);
}
