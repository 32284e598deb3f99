#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <random>
#include <thread>

#include "process/support/counting.hpp"
#include "process/support/stream.hpp"
#include "support/environment.hpp"

using namespace inboxd::support;

TEST_CASE("killed at random points, nothing is lost and nothing is doubled") {
  Scene scene;
  std::mt19937 random{Catch::getSeed()};
  const int kills = is_long() ? 200 : 20;
  int during_start = 0;
  const auto migrated = command(scene.config, {"migrate"});
  INFO(migrated.err);
  REQUIRE(migrated.status == ExitStatus{0, 0});
  Stream load{scene.topic};
  for (int kill = 0; kill < kills; ++kill) {
    Daemon daemon{scene.config};
    const bool anywhere = kill > 0 && kill % 4 == 0;  // also while it starts and joins the group
    if (!anywhere) {
      const auto before = sum(positions(scene.database.session(), scene.topic));
      daemon.wait_ready();
      wait_until("it stores", [&] { return sum(positions(scene.database.session(), scene.topic)) > before; });
    }
    // Not a wait: the moment of the kill is what is random.
    std::this_thread::sleep_for(milliseconds{std::uniform_int_distribution<int>{0, anywhere ? 1500 : 400}(random)});
    during_start += daemon.notified().count("READY=1") == 0 ? 1 : 0;
    REQUIRE(daemon.process().is_running());
    daemon.kill();
    expect_group_behind(scene.kafka, scene.database.session(), scene.config.group, scene.topic);
  }
  const auto produced = load.stop();
  Daemon last{scene.config};
  expect_settled(scene.database.session(), produced, "recorder", milliseconds{60'000});
  wait_for_end(scene);
  expect_group_behind(scene.kafka, scene.database.session(), scene.config.group, scene.topic);
  REQUIRE(scene.database.number("select coalesce(max(attempts), 0) from inbox.outcome where outcome <> 'done'") == 0);
  REQUIRE(last.stop() == ExitStatus{0, 0});

  const auto calls = scene.recording.calls_by_event();
  REQUIRE(static_cast<std::int64_t>(calls.size()) == produced);
  std::printf("%d kills (%d of them before it was ready), %lld events: none lost, none doubled; %zu calls\n", kills,
              during_start, static_cast<long long>(produced), scene.recording.count());
}
