#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <random>
#include <thread>

#include "process/support/inbox_counts.hpp"
#include "process/support/numbered_producer.hpp"
#include "process/support/recorder_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;

TEST_CASE("killing the daemon at random points loses and doubles nothing") {
  RecorderFixture fixture;
  std::mt19937 random{Catch::getSeed()};
  const int kills = is_long() ? 200 : 20;
  int during_start = 0;
  const auto migrated = command(fixture.config, {"migrate"});
  INFO(migrated.err);
  REQUIRE(migrated.status == ExitStatus{0, 0});
  NumberedProducer producer{fixture.topic};
  for (int kill = 0; kill < kills; ++kill) {
    DaemonProcess daemon{fixture.config};
    const bool anywhere = kill > 0 && kill % 4 == 0;  // also during start and group join
    if (!anywhere) {
      const auto before = sum(positions(fixture.database.session(), fixture.topic));
      daemon.wait_ready();
      wait_until("it stores", [&] { return sum(positions(fixture.database.session(), fixture.topic)) > before; });
    }
    // Not a wait: the moment of the kill is random.
    std::this_thread::sleep_for(milliseconds{std::uniform_int_distribution<int>{0, anywhere ? 1500 : 400}(random)});
    during_start += daemon.notified().count("READY=1") == 0 ? 1 : 0;
    REQUIRE(daemon.process().is_running());
    daemon.kill();
    expect_group_behind(fixture.kafka, fixture.database.session(), fixture.config.group, fixture.topic);
  }
  const auto produced = producer.stop();
  DaemonProcess last{fixture.config};
  expect_settled(fixture.database.session(), produced, "recorder", milliseconds{60'000});
  wait_for_end(fixture);
  expect_group_behind(fixture.kafka, fixture.database.session(), fixture.config.group, fixture.topic);
  REQUIRE(fixture.database.number("select coalesce(max(attempts), 0) from inbox.outcome where outcome <> 'done'") == 0);
  REQUIRE(last.stop() == ExitStatus{0, 0});

  const auto calls = fixture.recording.calls_by_event();
  REQUIRE(static_cast<std::int64_t>(calls.size()) == produced);
  std::printf("%d kills (%d of them before it was ready), %lld events: none lost, none doubled; %zu calls\n", kills,
              during_start, static_cast<long long>(produced), fixture.recording.count());
}
