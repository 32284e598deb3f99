// Instances that die, that seem dead, and that come back.
#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Two instances of one configuration; the first one's handler waits at a gate.
struct Pair {
  explicit Pair(Stage& the_stage) : stage{the_stage}, gate{folder / "gate"} {
    stage.config.sections["handler_defaults"] = "lease: 2s, concurrency: 2, events_per_call: 10, deadline: 60s";
    stage.set("gate", gate);
    first = stage.start();
    stage.config.handlers[0].settings.erase("gate");
  }
  void open_gate() const { write_file(gate, "open"); }

  Stage& stage;
  TempFolder folder;
  std::filesystem::path gate;
  std::unique_ptr<Daemon> first;
};

}  // namespace

TEST_CASE("an instance that is killed with work in hand: another takes its leases over, within seconds") {
  Stage stage{2};
  Pair pair{stage};
  stage.produce(100);
  wait_until("it has work in hand", [&] { return stage.recording.count() >= 2; });
  const auto second = stage.start();
  pair.first->kill();
  const auto killed = monotonic_ms();
  const auto tally = stage.wait_done();
  WARN("taken over and done " << monotonic_ms() - killed << " ms after the kill (lease 2 s): " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(monotonic_ms() - killed < 15'000);
  CHECK(stage.database.number("select count(*) from inbox.failure") == 0);  // a death is nobody's failure
}

TEST_CASE("leases are renewed while a call takes longer than they last") {
  Stage stage{1};
  Pair pair{stage};
  stage.produce(10);
  wait_until("it is in hand", [&] { return stage.recording.count() >= 1; });
  const auto second = stage.start();
  holds_for("nobody else takes it", milliseconds{5000}, [&] { return stage.recording.processes().size() == 1; });
  pair.open_gate();
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 10);
  CHECK(pair.first->count_in_log("leases were lost") == 0);
}

TEST_CASE("a zombie that wakes up after its lease was taken over changes nothing") {
  Stage stage{2};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  Pair pair{stage};
  stage.produce(50);
  wait_until("it has work in hand", [&] { return stage.recording.count() >= 2; });
  pair.first->process().signal(SIGSTOP);
  stage.config.sections["admin"] = "listen: off";
  const auto second = stage.start();
  CHECK(stage.wait_done().is_perfect());
  pair.open_gate();
  pair.first->process().signal(SIGCONT);
  pair.first->wait_log("leases were lost, what the handlers said of their events is dropped");
  CHECK(gauge(port, "inboxd_leases_lost_total{handler=\"recorder\"}") > 0);
  stage.produce(50);
  const auto tally = stage.wait_done();
  WARN("after the zombie spoke: " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.recording.processes().size() == 2);
  CHECK(pair.first->stop() == ExitStatus{0, 0});
}

TEST_CASE("a process that was stopped for longer than a call may take charges no call for that") {
  Stage stage{1};
  const TempFolder folder;
  const auto gate = folder / "gate";
  stage.set("gate", gate);
  stage.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  stage.config.sections["handler_defaults"] = "lease: 60s, deadline: 3s";
  const auto daemon = stage.start();
  stage.produce(1);
  wait_until("the call runs", [&] { return stage.recording.count() == 1; });
  daemon->process().signal(SIGSTOP);
  holds_for("nothing moves", milliseconds{5'000}, [&] { return stage.tally().done == 0; });
  daemon->process().signal(SIGCONT);
  holds_for("it is not over", milliseconds{1'500}, [&] { return stage.tally().dead == 0; });
  write_file(gate, "open");
  CHECK(stage.wait_done().is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.failure") == 0);
}

TEST_CASE("a call is told when others may have taken its events, and stops uncharged") {
  Stage stage{1};
  Proxy proxy{port_of(stage.config.url)};
  const auto direct = stage.config.url;
  stage.config.url = url_with_port(direct, proxy.port());
  stage.config.sections["shutdown"] = "drain: 60s";
  Pair pair{stage};
  stage.produce(1);
  wait_until("the call runs", [&] { return stage.recording.count() == 1; });
  proxy.freeze(true);
  stage.config.url = direct;
  const auto second = stage.start();
  CHECK(stage.wait_done().is_perfect());
  proxy.freeze(false);
  // The gate is still closed: whoever waits at it has been told to stop.
  const auto began = monotonic_ms();
  CHECK(pair.first->stop() == ExitStatus{0, 0});
  CHECK(monotonic_ms() - began < 30'000);
  CHECK(stage.database.number("select count(*) from inbox.failure") == 0);
}

TEST_CASE("instances that are killed one after another under load: everything is done, nothing twice") {
  Stage stage{4};
  stage.set("takes", "2ms");
  std::vector<std::unique_ptr<Daemon>> daemons;
  for (int i = 0; i < 3; ++i) daemons.push_back(stage.start());
  Load load{stage, 800};
  const int rounds = is_long() ? 60 : 6;
  for (int i = 0; i < rounds; ++i) {
    load.wait_for_more(800);
    auto& victim = daemons[static_cast<std::size_t>(i % 3)];
    victim->kill();
    victim = stage.start();
  }
  load.finish();
  const auto tally = stage.wait_done();
  WARN(rounds << " deaths of three instances: " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.offsets_ahead() == 0);
}

TEST_CASE("an event that kills its instance does not take the others of its run with it") {
  Stage stage{1};
  stage.set("crash_type", "Deadly");
  stage.config.handlers[0].more = {"retry: {max_attempts: 2, base: 50ms}"};
  stage.config.sections["handler_defaults"] = "lease: 1s, concurrency: 1, events_per_call: 100";
  std::vector<Message> messages;
  std::vector<std::string> good;
  for (int i = 0; i < 64; ++i) {
    const std::string id = "0c000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i);
    messages.push_back(event_message(stage.topic, id, "{}", i == 20 ? "Deadly" : "Harmless"));
    if (i != 20) good.push_back(id);
  }
  stage.kafka.produce(messages);
  stage.note(good);
  int deaths = 0;
  auto daemon = stage.start();
  wait_until(
      "the others are done and the deadly one is dead",
      [&] {
        if (!daemon->process().is_running()) {
          ++deaths;
          daemon = stage.start();
        }
        const auto tally = stage.tally();
        return tally.done == 63 && tally.dead == 1;
      },
      milliseconds{55'000}, [&] { return stage.tally().text() + ", " + std::to_string(deaths) + " deaths"; });
  WARN(deaths << " deaths of the instance until the culprit was found among 64: " << stage.tally().text());
  CHECK(stage.tally().done_twice == 0);
}

TEST_CASE("an event that kills its instance does not make another handler's slow event dead") {
  Stage stage{1};
  stage.config.handlers[0].settings["crash_type"] = "Deadly";
  stage.config.handlers.push_back(stage.config.handlers[0]);
  stage.config.handlers[1].name = "slow";
  stage.config.handlers[1].settings = {{"file", stage.recording.file()}, {"takes", "1500ms"}};
  stage.config.sections["handler_defaults"] = "lease: 1s, concurrency: 1";
  auto daemon = stage.start();
  const std::string id = "0c000000-0000-4000-8000-200000000001";
  stage.kafka.produce({event_message(stage.topic, id, "{}", "Deadly")});
  stage.note({id});
  int deaths = 0;
  wait_until(
      "it is dead for the one and done for the other",
      [&] {
        if (!daemon->process().is_running()) {
          ++deaths;
          daemon = stage.start();
        }
        return stage.tally().dead == 1 && stage.tally("slow").outstanding == 0;
      },
      milliseconds{55'000},
      [&] {
        return stage.tally().text() + "; slow: " + stage.tally("slow").text() + ", deaths: " + std::to_string(deaths);
      });
  WARN(deaths << " deaths; slow: " << stage.tally("slow").text());
  CHECK(stage.tally("slow").dead == 0);
  CHECK(stage.tally("slow").done == 1);
}
