#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "process/support/daemon_fixture.hpp"
#include "support/wait.hpp"

using namespace inboxd::support;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* paused = "select count(*) from inbox.handler where paused_reason is not null";
constexpr const char* done = "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome";

Finished handlers(DaemonFixture& fixture, const std::string& verb) {
  std::vector<std::string> words{"handlers", verb, "recorder", "--yes"};
  if (verb == "pause") words.insert(words.end(), {"--reason", "mail server is away"});
  return command(fixture.config, words);
}

/// Fails every event until `heal`.
struct Failing : DaemonFixture {
  explicit Failing(const std::string& mode) : DaemonFixture{1} {
    config.handlers[0].more = {"mode: " + mode, "concurrency: 1", "events_per_call: 1", "fuse: {failures: 5}",
                               "retry: {backoff: fixed, base: 1s, jitter: 0, max_attempts: 1000}"};
    set("fail_first", "1000");
    set("takes", "20ms");
  }
};

}  // namespace

TEST_CASE("handlers pause holds in all instances and after a restart, and ingest goes on") {
  DaemonFixture fixture{2};
  fixture.config.handlers[0].more = {"mode: sequential"};
  auto first = fixture.start();
  const auto second = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  const auto asked = std::chrono::steady_clock::now();
  const auto answer = handlers(fixture, "pause");
  CAPTURE(answer.out, answer.err);
  CHECK(answer.status == ExitStatus{0, 0});
  CHECK(handlers(fixture, "pause").out == "recorder is paused already: mail server is away\n");
  std::this_thread::sleep_until(asked + 2s);  // the promise: by then both obey
  CHECK(fixture.database.number("select count(*) from inbox.sequence where owner is not null") == 0);
  fixture.produce(30);
  fixture.wait_stored(50);
  CHECK(first->stop() == ExitStatus{0, 0});
  first = fixture.start();
  holds_for("no further call", 700ms, [&] { return fixture.recording.count() == 20; });
  const auto status = command(fixture.config, {"status"});
  CHECK_THAT(status.out, ContainsSubstring("PAUSED: mail server is away"));
  CHECK(handlers(fixture, "resume").status == ExitStatus{0, 0});
  CHECK(fixture.wait_done().is_perfect());
  CHECK(handlers(fixture, "resume").out == "recorder is not paused\n");
  CHECK(fixture.database.text("select string_agg(operation || ' ' || target, ', ' order by occurred_at) "
                              "from inbox.audit_log where operation in ('handlers pause', 'handlers resume')") ==
        "handlers pause recorder, handlers resume recorder");
}

TEST_CASE("an application pauses and resumes a handler with SQL") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.database.run("select inbox.pause_handler('recorder', 'nightly import')");
  fixture.produce(10);
  fixture.wait_stored(10);
  CHECK(fixture.database.number("select count(*) from inbox.backlog where paused_reason = 'nightly import'") == 1);
  fixture.database.run("select inbox.resume_handler('recorder')");
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("a handler that keeps failing is paused, tries one event when it is resumed, and runs once that works") {
  const std::string mode = GENERATE("single", "sequential");
  Failing fixture{mode};
  auto daemon = fixture.start();
  fixture.produce(40);
  fixture.database.wait_for("its fuse has blown", paused, 1);
  wait_until("the log says so",
             [&] { return daemon->count_in_log("dispatcher: handler paused in all instances") == 1; });
  const auto calls = fixture.recording.count();
  CHECK(calls >= 5);
  CHECK(calls < 15);
  CHECK_THAT(fixture.database.text("select paused_reason from inbox.handler"),
             ContainsSubstring(" failures in a row, the last: test.failure"));

  const auto status = command(fixture.config, {"status"});
  CHECK(status.status == ExitStatus{1, 0});
  CHECK_THAT(status.out, ContainsSubstring("inboxd handlers resume recorder"));

  // Still broken: a single call, and it is paused again.
  CHECK_THAT(handlers(fixture, "resume").out, ContainsSubstring("tries one event"));
  fixture.database.wait_for(
      "the trial failed", "select count(*) from inbox.handler where fuse = 'blown' and paused_reason like 'the event%'",
      1);
  holds_for("no further call", 700ms, [&] { return fixture.recording.count() == calls + 1; });

  daemon->stop();
  fixture.set("fail_first", "0");
  daemon = fixture.start();
  CHECK(handlers(fixture, "resume").status == ExitStatus{0, 0});
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number(paused) == 0);
  CHECK(fixture.database.number("select count(*) from inbox.dead_letter") == 0);
}

TEST_CASE("a fuse stops each instance at the failure that blows it, however many calls run at once") {
  Failing fixture{"single"};
  fixture.config.handlers[0].more[1] = "concurrency: 4";
  fixture.config.handlers[0].more[3] = "fuse: {failures: 20}";
  fixture.set("takes", "3ms");
  const auto first = fixture.start();
  const auto second = fixture.start();
  fixture.produce(500);
  fixture.database.wait_for("its fuse has blown", paused, 1);
  holds_for("each instance makes at most 20 failing calls, and those in flight", 2500ms,
            [&] { return fixture.recording.count() <= 2 * (20 + 3); });
  WARN("failing calls: " << fixture.recording.count());
}

TEST_CASE("of two instances one tries an event after a fuse, and another takes over if that instance crashes") {
  Failing fixture{"single"};
  auto first = fixture.start();
  fixture.produce(10);
  fixture.database.wait_for("its fuse has blown", paused, 1);
  first->stop();
  const std::string gate = fixture.recording.file().string() + ".gate";
  fixture.set("fail_first", "0");
  fixture.set("gate", gate);
  const auto before = fixture.recording.count();
  first = fixture.start();
  auto second = fixture.start();
  CHECK(handlers(fixture, "resume").status == ExitStatus{0, 0});
  wait_until("one event is tried", [&] { return fixture.recording.count() == before + 1; });
  holds_for("no further call", 700ms, [&] { return fixture.recording.count() == before + 1; });
  const int process = fixture.recording.all().back().process_id;
  (process == first->process().id() ? first : second)->kill();
  wait_until(
      "the other one tries", [&] { return fixture.recording.count() > before + 1; }, 30s);
  CHECK(fixture.recording.all().back().process_id != process);
  std::ofstream{gate} << "open";
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number(done) == 10);
}
