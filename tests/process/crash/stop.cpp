#include <catch2/catch_test_macros.hpp>

#include <csignal>

#include "process/support/counting.hpp"
#include "process/support/stream.hpp"
#include "support/environment.hpp"

using namespace inboxd::support;

TEST_CASE("SIGTERM under load finishes the running calls and gives the rest back uncharged") {
  Scene scene;
  scene.config.handlers[0].settings["takes"] = "5ms";
  Stream load{scene.topic};
  Daemon first{scene.config};
  first.wait_ready();
  wait_until("it works", [&] { return scene.recording.count() > 100; });
  REQUIRE(first.stop(milliseconds{12'000}) == ExitStatus{0, 0});
  expect_group_behind(scene.kafka, scene.database.session(), scene.config.group, scene.topic);
  REQUIRE(scene.database.number("select count(*) from inbox.delivery where owner is not null") == 0);
  REQUIRE(scene.database.number("select count(*) from inbox.delivery where attempts > 0 or claims > 0") == 0);
  REQUIRE(scene.database.number("select count(*) from inbox.delivery where due_at > clock_timestamp()") == 0);
  REQUIRE(scene.database.number("select count(*) from inbox.delivery") > 0);

  ConfigText fast = scene.config;
  fast.handlers[0].settings.erase("takes");
  const auto produced = load.stop();
  Daemon second{fast};
  expect_settled(scene.database.session(), produced);
  for (const auto& [id, calls] : scene.recording.calls_by_event()) {
    INFO(id);
    REQUIRE(calls == 1);  // what was called was also settled
  }
}

TEST_CASE("a second SIGTERM leaves at once, and what was in hand runs again uncharged") {
  Scene scene{1};
  const TempFolder folder;
  scene.config.handlers[0].settings["gate"] = folder / "gate";
  Daemon daemon{scene.config};
  daemon.wait_ready();
  scene.kafka.produce(events_of(scene.topic, 0, 50));
  wait_until("calls run", [&] { return scene.recording.count() >= 2; });
  daemon.process().signal(SIGTERM);
  daemon.wait_log("daemon: stopping");
  wait_until("it drains", [&] { return daemon.notified().count("STOPPING=1") == 1; });
  holds_for("it waits for its calls", milliseconds{500}, [&] { return daemon.process().is_running(); });
  const auto signalled = monotonic_ms();
  daemon.process().signal(SIGTERM);
  REQUIRE(daemon.process().wait(milliseconds{5'000}) == ExitStatus{128 + SIGTERM, 0});
  REQUIRE(monotonic_ms() - signalled < 1'500);

  write_file(folder / "gate", "");
  Daemon next{scene.config};
  expect_settled(scene.database.session(), 50);
  for (const Recorded& one : scene.recording.all()) REQUIRE(one.attempt == 1);
}
