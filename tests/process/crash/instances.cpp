#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <memory>

#include "process/support/counting.hpp"
#include "process/support/stream.hpp"
#include "support/environment.hpp"

using namespace inboxd::support;

namespace {

void wait_members(Scene& scene, std::size_t count) {
  wait_until("the group has " + std::to_string(count) + " members",
             [&] { return scene.kafka.members(scene.config.group).size() == count; });
}

/// Events in calls now, by what the recorder noted.
void wait_called(const Scene& scene, std::size_t count) {
  wait_until("the handler was called", [&] { return scene.recording.count() >= count; });
}

}  // namespace

TEST_CASE("a rebalance between two and three instances under load loses and doubles nothing") {
  Scene scene{6};
  Daemon first{scene.config};
  first.wait_ready();
  Daemon second{scene.config};
  wait_members(scene, 2);
  Stream load{scene.topic};
  const auto grows = [&] {
    const auto before = sum(positions(scene.database.session(), scene.topic));
    wait_until("events are stored", [&] {
      return sum(positions(scene.database.session(), scene.topic)) > before + 500;
    });
    expect_group_behind(scene.kafka, scene.database.session(), scene.config.group, scene.topic);
  };
  for (int round = 0; round < (is_long() ? 20 : 3); ++round) {
    Daemon third{scene.config};
    wait_members(scene, 3);
    grows();
    if (round % 2 == 0) {
      REQUIRE(third.stop() == ExitStatus{0, 0});
    } else {
      third.kill();
    }
    wait_members(scene, 2);
    grows();
  }
  const auto produced = load.stop();
  expect_settled(scene.database.session(), produced);
  wait_for_end(scene);
  REQUIRE(first.stop() == ExitStatus{0, 0});
  REQUIRE(second.stop() == ExitStatus{0, 0});
  REQUIRE(scene.recording.processes().size() >= 3);
}

TEST_CASE("of two instances one is killed: its work is taken over within the lease") {
  Scene scene{1};
  const TempFolder folder;
  ConfigText stuck = scene.config;
  stuck.handlers[0].settings["gate"] = folder / "never";
  auto killed = std::make_unique<Daemon>(stuck);
  killed->wait_ready();
  scene.kafka.produce(events_of(scene.topic, 0, 200));
  wait_called(scene, 2);
  scene.database.wait_for("all is stored", "select count(*) from inbox.event", 200);
  const auto killed_id = killed->process().id();
  const auto in_calls = scene.recording.count();

  Daemon survivor{scene.config};
  survivor.wait_ready();
  killed->kill();
  const auto killed_at = monotonic_ms();
  expect_settled(scene.database.session(), 200);
  const auto took = monotonic_ms() - killed_at;
  INFO("took over within " << took << " ms, " << in_calls << " events were in calls");
  REQUIRE(took < 2'000 + 3'000);  // the lease, and time for a slow machine
  REQUIRE(scene.recording.calls_by_event().size() == 200);
  for (const Recorded& one : scene.recording.all()) {
    REQUIRE(one.attempt == 1);  // nobody is charged for a death
    if (one.process_id == killed_id) continue;
    REQUIRE(one.process_id == survivor.process().id());
  }
}

TEST_CASE("a zombie that wakes after its lease settles nothing late") {
  Scene scene{1};
  const TempFolder folder;
  ConfigText gated = scene.config;
  gated.handlers[0].settings["gate"] = folder / "gate";
  Daemon zombie{gated};
  zombie.wait_ready();
  scene.kafka.produce(events_of(scene.topic, 0, 100));
  wait_called(scene, 2);
  scene.database.wait_for("all is stored", "select count(*) from inbox.event", 100);

  zombie.process().signal(SIGSTOP);
  Daemon other{scene.config};
  expect_settled(scene.database.session(), 100);
  const auto before = scene.database.text("select md5(string_agg(o::text, ' ' order by o::text)) from inbox.outcome o");

  write_file(folder / "gate", "");  // its calls say done, too late
  zombie.process().signal(SIGCONT);
  zombie.wait_log("settler: leases were lost");
  expect_settled(scene.database.session(), 100);
  REQUIRE(scene.database.text("select md5(string_agg(o::text, ' ' order by o::text)) from inbox.outcome o") == before);
  REQUIRE(zombie.stop() == ExitStatus{0, 0});
  REQUIRE(other.stop() == ExitStatus{0, 0});
  expect_settled(scene.database.session(), 100);
}
