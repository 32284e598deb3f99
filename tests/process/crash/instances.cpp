#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>

#include "process/support/inbox_counts.hpp"
#include "process/support/numbered_producer.hpp"
#include "process/support/recorder_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;

namespace {

void wait_members(RecorderFixture& fixture, std::size_t count) {
  wait_until("the group has " + std::to_string(count) + " members",
             [&] { return fixture.kafka.members(fixture.config.group).size() == count; });
}

void wait_called(const RecorderFixture& fixture, std::size_t count) {
  wait_until("the handler was called", [&] { return fixture.recording.count() >= count; });
}

}  // namespace

TEST_CASE("a rebalance between two and three instances under load loses and doubles nothing") {
  RecorderFixture fixture{6};
  DaemonProcess first{fixture.config};
  first.wait_ready();
  DaemonProcess second{fixture.config};
  wait_members(fixture, 2);
  NumberedProducer producer{fixture.topic};
  const auto grows = [&] {
    const auto before = sum(positions(fixture.database.session(), fixture.topic));
    wait_until("events are stored",
               [&] { return sum(positions(fixture.database.session(), fixture.topic)) > before + 500; });
    expect_group_behind(fixture.kafka, fixture.database.session(), fixture.config.group, fixture.topic);
  };
  for (int round = 0; round < (is_long() ? 20 : 3); ++round) {
    DaemonProcess third{fixture.config};
    wait_members(fixture, 3);
    grows();
    if (round % 2 == 0) {
      REQUIRE(third.stop() == ExitStatus{0, 0});
    } else {
      third.kill();
    }
    wait_members(fixture, 2);
    grows();
  }
  const auto produced = producer.stop();
  expect_settled(fixture.database.session(), produced);
  wait_for_end(fixture);
  REQUIRE(first.stop() == ExitStatus{0, 0});
  REQUIRE(second.stop() == ExitStatus{0, 0});
  REQUIRE(fixture.recording.processes().size() >= 3);
}

TEST_CASE("after one of two instances is killed, the other takes over within the lease", "[alone]") {
  RecorderFixture fixture{1};
  const TempFolder folder;
  ConfigText stuck = fixture.config;
  stuck.handlers[0].settings["gate"] = folder / "never";
  auto killed = std::make_unique<DaemonProcess>(stuck);
  killed->wait_ready();
  fixture.kafka.produce(events_of(fixture.topic, 0, 200));
  wait_called(fixture, 2);
  fixture.database.wait_for("all is stored", "select count(*) from inbox.event", 200);
  const auto killed_id = killed->process().id();
  const auto in_calls = fixture.recording.count();

  DaemonProcess survivor{fixture.config};
  survivor.wait_ready();
  killed->kill();
  const auto killed_at = monotonic_ms();
  expect_settled(fixture.database.session(), 200);
  const auto took = monotonic_ms() - killed_at;
  INFO("took over within " << took << " ms, " << in_calls << " events were in calls");
  REQUIRE(took < 2'000 + 3'000);  // the lease, and time for a slow machine
  REQUIRE(fixture.recording.calls_by_event().size() == 200);
  for (const Recorded& one : fixture.recording.all()) {
    REQUIRE(one.attempt == 1);  // a crash charges no attempt
    if (one.process_id == killed_id) continue;
    REQUIRE(one.process_id == survivor.process().id());
  }
}

TEST_CASE("a zombie that wakes after its lease settles nothing") {
  RecorderFixture fixture{1};
  const TempFolder folder;
  ConfigText gated = fixture.config;
  gated.handlers[0].settings["gate"] = folder / "gate";
  DaemonProcess zombie{gated};
  zombie.wait_ready();
  fixture.kafka.produce(events_of(fixture.topic, 0, 100));
  wait_called(fixture, 2);
  fixture.database.wait_for("all is stored", "select count(*) from inbox.event", 100);

  zombie.process().signal(SIGSTOP);
  DaemonProcess other{fixture.config};
  expect_settled(fixture.database.session(), 100);
  const auto before =
      fixture.database.text("select md5(string_agg(o::text, ' ' order by o::text)) from inbox.outcome o");

  write_file(folder / "gate", "");  // its calls return done, too late
  zombie.process().signal(SIGCONT);
  zombie.wait_log("kind=settler.leases_lost");
  expect_settled(fixture.database.session(), 100);
  REQUIRE(fixture.database.text("select md5(string_agg(o::text, ' ' order by o::text)) from inbox.outcome o") ==
          before);
  REQUIRE(zombie.stop() == ExitStatus{0, 0});
  REQUIRE(other.stop() == ExitStatus{0, 0});
  expect_settled(fixture.database.session(), 100);
}
