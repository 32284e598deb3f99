#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "process/support/inbox_counts.hpp"
#include "process/support/numbered_producer.hpp"
#include "process/support/recorder_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;

TEST_CASE("SIGTERM under load finishes the running calls and releases the other events uncharged") {
  RecorderFixture fixture;
  fixture.config.handlers[0].settings["takes"] = "5ms";
  NumberedProducer producer{fixture.topic};
  DaemonProcess first{fixture.config};
  first.wait_ready();
  wait_until("it works", [&] { return fixture.recording.count() > 100; });
  REQUIRE(first.stop() == ExitStatus{0, 0});
  expect_group_behind(fixture.kafka, fixture.database.session(), fixture.config.group, fixture.topic);
  REQUIRE(fixture.database.number("select count(*) from inbox.delivery where owner is not null") == 0);
  REQUIRE(fixture.database.number("select count(*) from inbox.delivery where attempts > 0 or claims > 0") == 0);
  REQUIRE(fixture.database.number("select count(*) from inbox.delivery where due_at > clock_timestamp()") == 0);
  REQUIRE(fixture.database.number("select count(*) from inbox.delivery") > 0);

  ConfigText fast = fixture.config;
  fast.handlers[0].settings.erase("takes");
  const auto produced = producer.stop();
  DaemonProcess second{fast};
  expect_settled(fixture.database.session(), produced);
  for (const auto& [id, calls] : fixture.recording.calls_by_event()) {
    INFO(id);
    REQUIRE(calls == 1);  // every call is settled
  }
}

TEST_CASE("status knows a daemon that drains") {
  RecorderFixture fixture{1};
  const TempFolder folder;
  fixture.config.handlers[0].settings["gate"] = folder / "gate";
  DaemonProcess daemon{fixture.config};
  daemon.wait_ready();
  fixture.kafka.produce(events_of(fixture.topic, 0, 2));
  wait_until("calls run", [&] { return fixture.recording.count() >= 1; });
  daemon.process().signal(SIGTERM);
  daemon.wait_log("kind=daemon.stopping");
  const auto finds_none = [&] {
    return command(fixture.config, {"status"}).out.find("no daemon is running") != std::string::npos;
  };
  holds_for("it drains", milliseconds{1'500}, [&] { return daemon.process().is_running() && !finds_none(); });
  write_file(folder / "gate", "");
  REQUIRE(daemon.process().wait() == ExitStatus{0, 0});
  REQUIRE(finds_none());
}

// fault: a second SIGTERM
TEST_CASE("a second SIGTERM exits at once, and events in flight run again uncharged", "[alone]") {
  RecorderFixture fixture{1};
  const TempFolder folder;
  fixture.config.handlers[0].settings["gate"] = folder / "gate";
  DaemonProcess daemon{fixture.config};
  daemon.wait_ready();
  fixture.kafka.produce(events_of(fixture.topic, 0, 50));
  wait_until("calls run", [&] { return fixture.recording.count() >= 2; });
  daemon.process().signal(SIGTERM);
  daemon.wait_log("kind=daemon.stopping");
  wait_until("it drains", [&] { return daemon.notified().count("STOPPING=1") == 1; });
  holds_for("it waits for its calls", milliseconds{500}, [&] { return daemon.process().is_running(); });
  const auto signalled = monotonic_ms();
  daemon.process().signal(SIGTERM);
  REQUIRE(daemon.process().wait(milliseconds{5'000}) == ExitStatus{128 + SIGTERM, 0});
  REQUIRE(monotonic_ms() - signalled < 1'500);

  write_file(folder / "gate", "");
  DaemonProcess next{fixture.config};
  expect_settled(fixture.database.session(), 50);
  for (const Recorded& one : fixture.recording.all()) REQUIRE(one.attempt == 1);
}
