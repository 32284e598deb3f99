#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>

#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Two instances of the same configuration; the first instance's handler waits at a gate.
struct TwoInstances {
  explicit TwoInstances(DaemonFixture& the_fixture) : fixture{the_fixture}, gate{folder / "gate"} {
    fixture.config.sections["handler_defaults"] = "lease: 2s, concurrency: 2, events_per_call: 10, deadline: 60s";
    fixture.set("gate", gate);
    first = fixture.start();
    fixture.config.handlers[0].settings.erase("gate");
  }
  void open_gate() const { write_file(gate, "open"); }

  DaemonFixture& fixture;
  TempFolder folder;
  std::filesystem::path gate;
  std::unique_ptr<DaemonProcess> first;
};

}  // namespace

// fault: worker killed in a handler
// fault: owner of a sequence killed in a call
TEST_CASE("after an instance is killed with events in flight, another takes over its leases within seconds") {
  DaemonFixture fixture{2};
  TwoInstances instances{fixture};
  fixture.produce(100);
  wait_until("events are in flight", [&] { return fixture.recording.count() >= 2; });
  const auto second = fixture.start();
  instances.first->kill();
  const auto killed = monotonic_ms();
  const auto counts = fixture.wait_done();
  WARN("taken over and done " << monotonic_ms() - killed << " ms after the kill (lease 2 s): " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(monotonic_ms() - killed < 15'000);
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);  // a crash is no failure of an event
}

TEST_CASE("leases are renewed while a call takes longer than they last") {
  DaemonFixture fixture{1};
  TwoInstances instances{fixture};
  fixture.produce(10);
  wait_until("events are in flight", [&] { return fixture.recording.count() >= 1; });
  const auto second = fixture.start();
  holds_for("no other instance takes over", milliseconds{5000},
            [&] { return fixture.recording.processes().size() == 1; });
  instances.open_gate();
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 10);
  CHECK(instances.first->count_in_log("kind=settler.leases_lost") == 0);
  CHECK(instances.first->count_in_log("kind=dispatcher.leases_lost") == 0);
}

// fault: zombie finishes after its lease
TEST_CASE("a zombie that wakes after its lease was taken over changes nothing") {
  DaemonFixture fixture{2};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  TwoInstances instances{fixture};
  fixture.produce(50);
  wait_until("events are in flight", [&] { return fixture.recording.count() >= 2; });
  instances.first->process().signal(SIGSTOP);
  fixture.config.sections["admin"] = "listen: off";
  const auto second = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  instances.open_gate();
  instances.first->process().signal(SIGCONT);
  instances.first->wait_log("kind=settler.leases_lost");
  CHECK(gauge(port, "inboxd_leases_lost_total{handler=\"recorder\"}") > 0);
  fixture.produce(50);
  const auto counts = fixture.wait_done();
  WARN("after the zombie spoke: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.recording.processes().size() == 2);
  CHECK(instances.first->stop() == ExitStatus{0, 0});
}

TEST_CASE("a process that was stopped for longer than a call's deadline charges no call for it") {
  DaemonFixture fixture{1};
  const TempFolder folder;
  const auto gate = folder / "gate";
  fixture.set("gate", gate);
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  fixture.config.sections["handler_defaults"] = "lease: 60s, deadline: 3s";
  const auto daemon = fixture.start();
  fixture.produce(1);
  wait_until("the call runs", [&] { return fixture.recording.count() == 1; });
  daemon->process().signal(SIGSTOP);
  holds_for("nothing moves", milliseconds{5'000}, [&] { return fixture.counts().done == 0; });
  daemon->process().signal(SIGCONT);
  holds_for("it is not over", milliseconds{1'500}, [&] { return fixture.counts().dead == 0; });
  write_file(gate, "open");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);
}

TEST_CASE("a call is cancelled, uncharged, when its lease may be lost") {
  DaemonFixture fixture{1};
  Proxy proxy{port_of(fixture.config.url)};
  const auto direct = fixture.config.url;
  fixture.config.url = url_with_port(direct, proxy.port());
  fixture.config.sections["shutdown"] = "drain: 60s";
  TwoInstances instances{fixture};
  fixture.produce(1);
  wait_until("the call runs", [&] { return fixture.recording.count() == 1; });
  proxy.freeze(true);
  fixture.config.url = direct;
  const auto second = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  proxy.freeze(false);
  // The gate is still closed: calls that wait at it were cancelled.
  const auto began = monotonic_ms();
  CHECK(instances.first->stop() == ExitStatus{0, 0});
  CHECK(monotonic_ms() - began < 30'000);
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);
}

TEST_CASE("killing instances in turn under load loses and repeats nothing") {
  DaemonFixture fixture{4};
  fixture.set("takes", "2ms");
  std::vector<std::unique_ptr<DaemonProcess>> daemons;
  for (int i = 0; i < 3; ++i) daemons.push_back(fixture.start());
  BackgroundProducer producer{fixture, 800};
  const int rounds = is_long() ? 60 : 6;
  for (int i = 0; i < rounds; ++i) {
    producer.wait_for_more(800);
    auto& victim = daemons[static_cast<std::size_t>(i % 3)];
    victim->kill();
    victim = fixture.start();
  }
  producer.finish();
  const auto counts = fixture.wait_done();
  WARN(rounds << " crashes of three instances: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.offsets_ahead() == 0);
}

TEST_CASE("an event that crashes its instance does not dead-letter the other events of its run") {
  DaemonFixture fixture{1};
  fixture.set("crash_type", "Deadly");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 2, base: 50ms}"};
  fixture.config.sections["handler_defaults"] = "lease: 1s, concurrency: 1, events_per_call: 100";
  std::vector<Message> messages;
  std::vector<std::string> good;
  for (int i = 0; i < 64; ++i) {
    const std::string id = "0c000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i);
    messages.push_back(event_message(fixture.topic, id, "{}", i == 20 ? "Deadly" : "Harmless"));
    if (i != 20) good.push_back(id);
  }
  fixture.kafka.produce(messages);
  fixture.note(good);
  int crashes = 0;
  auto daemon = fixture.start();
  wait_until(
      "the others are done and the deadly one is dead",
      [&] {
        if (!daemon->process().is_running()) {
          ++crashes;
          daemon = std::make_unique<DaemonProcess>(fixture.config);  // it may crash before it is ready
        }
        const auto counts = fixture.counts();
        return counts.done == 63 && counts.dead == 1;
      },
      milliseconds{55'000}, [&] { return fixture.counts().text() + ", " + std::to_string(crashes) + " deaths"; });
  WARN(crashes << " crashes of the instance until the culprit was found among 64: " << fixture.counts().text());
  CHECK(fixture.counts().done_twice == 0);
}

TEST_CASE("an event that crashes its instance does not dead-letter another handler's slow event") {
  DaemonFixture fixture{1};
  fixture.config.handlers[0].settings["crash_type"] = "Deadly";
  fixture.config.handlers.push_back(fixture.config.handlers[0]);
  fixture.config.handlers[1].name = "slow";
  fixture.config.handlers[1].settings = {{"file", fixture.recording.file()}, {"takes", "1500ms"}};
  fixture.config.sections["handler_defaults"] = "lease: 1s, concurrency: 1";
  auto daemon = fixture.start();
  const std::string id = "0c000000-0000-4000-8000-200000000001";
  fixture.kafka.produce({event_message(fixture.topic, id, "{}", "Deadly")});
  fixture.note({id});
  int crashes = 0;
  wait_until(
      "it is dead for the one and done for the other",
      [&] {
        if (!daemon->process().is_running()) {
          ++crashes;
          daemon = std::make_unique<DaemonProcess>(fixture.config);  // it may crash before it is ready
        }
        return fixture.counts().dead == 1 && fixture.counts("slow").pending == 0;
      },
      milliseconds{55'000},
      [&] {
        return fixture.counts().text() + "; slow: " + fixture.counts("slow").text() +
               ", crashes: " + std::to_string(crashes);
      });
  WARN(crashes << " crashes; slow: " << fixture.counts("slow").text());
  CHECK(fixture.counts("slow").dead == 0);
  CHECK(fixture.counts("slow").done == 1);
}
