#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>

#include "process/support/admin_fixture.hpp"
#include "process/support/keyed_events.hpp"
#include "support/http.hpp"
#include "support/wait.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Events that are stored and done by a handler, before a second handler is added (`late`).
struct LateHandler {
  explicit LateHandler(const std::string& mode, const std::string& takes = "0ms", int partitions = 2)
      : admin{partitions} {
    auto late = admin.config.handlers.front();
    late.name = "late";
    late.start = "now";
    late.more = {"mode: " + mode, "concurrency: 4"};
    late.settings["takes"] = takes;
    handlers = {admin.config.handlers.front(), late};
  }

  void produce(int count, int keys = 20) {
    events.produce(count, [&](int i) { return KeyedEvents::Made{"key" + std::to_string(i % keys)}; });
  }
  /// With the second handler, once all events so far are stored.
  std::unique_ptr<DaemonProcess> start_with_late() {
    auto first = admin.start();
    CHECK(admin.fixture.wait_done().is_perfect());
    CHECK(first->stop() == ExitStatus{0, 0});
    admin.config.handlers = handlers;
    return admin.start();
  }
  Finished backfill(std::vector<std::string> more) {
    std::vector<std::string> words{"handlers", "backfill", "late", "--yes"};
    words.insert(words.end(), more.begin(), more.end());
    return command(admin.config, words);
  }
  /// Returns at once.
  void request(const std::string& body) {
    const auto answer = post(admin.port, "/v1/handlers/backfill", body, change);
    INFO(answer.body);
    REQUIRE(answer.status == 200);
  }
  std::int64_t done() {
    return admin.database.number(
        "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome join inbox.handler using (handler_id) "
        "where name = 'late'");
  }

  AdminFixture admin;
  KeyedEvents events{admin.fixture};
  std::vector<HandlerText> handlers;
};

}  // namespace

TEST_CASE("a daemon killed in the middle of a back-fill delivers every event once") {
  const std::string mode = GENERATE("single", "sequential");
  CAPTURE(mode);
  LateHandler test{mode, "2ms"};
  test.produce(3'000);
  auto daemon = test.start_with_late();
  test.request(R"({"handler": "late"})");
  wait_until("a part is done", [&] { return test.done() > 300; });
  daemon->kill();
  CHECK(test.done() < 3'000);
  CHECK(test.admin.database.number("select count(*) from inbox.backfill_range") > 0);
  daemon = test.admin.start();
  const auto counts = test.admin.fixture.wait_done("late");
  CHECK(counts.is_perfect());
  daemon->wait_log("kind=maintenance.backfill_ended");
}

TEST_CASE("handlers backfill shows its progress, is recorded, and delivers nothing the second time") {
  LateHandler test{"single"};
  test.produce(500);
  const auto daemon = test.start_with_late();
  const auto plan = test.backfill({"--dry-run"});
  CHECK_THAT(plan.out, ContainsSubstring("late: would read 500 offsets at most"));
  CHECK(test.done() == 0);

  const auto first = test.backfill({});
  INFO(first.out << first.err);
  CHECK(first.status == ExitStatus{0, 0});
  CHECK_THAT(first.out, ContainsSubstring("late: back-fill done, 500 events made pending"));
  CHECK(test.admin.fixture.wait_done("late").is_perfect());
  CHECK_THAT(test.backfill({}).out, ContainsSubstring("late: back-fill done, 0 events made pending"));
  CHECK_THAT(test.backfill({"--again"}).out, ContainsSubstring("late: back-fill done, 500 events made pending"));
  wait_until("each is done twice", [&] { return test.done() == 1'000; });
  CHECK(test.admin.database.text("select string_agg(target || ' ' || (detail ->> 'asked'), ', ' order by occurred_at) "
                                 "from inbox.audit_log where operation = 'handlers backfill'") ==
        "late late, late late, late late --again");
}

TEST_CASE("Ctrl-C leaves a back-fill running, and --cancel ends it") {
  LateHandler test{"single"};
  test.produce(2'000);
  const auto daemon = test.start_with_late();
  TempFolder folder;
  const auto file = folder / "inboxd.yaml";
  write_file(file, test.admin.config.text());
  Process asking{{.arguments = {daemon_program(), "--config", file.string(), "handlers", "backfill", "late", "--yes",
                                "--rate", "50"},
                  .err = folder / "err"}};
  wait_until("it has begun", [&] { return test.done() > 0; });
  asking.signal(SIGINT);
  CHECK(asking.wait() == ExitStatus{0, 0});
  CHECK_THAT(read_file(folder / "err"), ContainsSubstring("`inboxd handlers backfill late --cancel` ends it"));
  const auto before = test.done();
  wait_until("it continues", [&] { return test.done() > before; });
  CHECK_THAT(command(test.admin.config, {"status"}).out, ContainsSubstring("backfill: "));
  CHECK_THAT(test.backfill({}).err, ContainsSubstring("a back-fill of late runs"));

  CHECK_THAT(test.backfill({"--cancel"}).out, ContainsSubstring("late: back-fill cancelled"));
  daemon->wait_log("kind=maintenance.backfill_ended");
  CHECK(test.done() < 2'000);
  CHECK(test.admin.database.number("select count(*) from inbox.backfill_range") == 0);
}

TEST_CASE("a back-fill of a sequential handler keeps the order per key, also with live events") {
  LateHandler test{"sequential", "1ms"};
  test.produce(1'500);
  const auto daemon = test.start_with_late();
  test.request(R"({"handler": "late"})");
  wait_until("a part is done", [&] { return test.done() > 100; });
  test.produce(500);
  CHECK(test.admin.fixture.wait_done("late").is_perfect());
  for (int key = 0; key < 20; ++key) {
    std::vector<int> stored, live;
    for (const int number : test.events.calls_of("key" + std::to_string(key), "late")) {
      (number < 75 ? stored : live).push_back(number);
    }
    CAPTURE(key, stored, live);
    CHECK(stored.size() == 75);
    CHECK(std::is_sorted(stored.begin(), stored.end()));
    CHECK(std::is_sorted(live.begin(), live.end()));
  }
}

TEST_CASE("a handler that no daemon runs keeps its back-fill until a daemon runs it") {
  LateHandler test{"single"};
  test.produce(100);
  auto daemon = test.start_with_late();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto asked = test.backfill({});
  CHECK(asked.status == ExitStatus{0, 0});
  CHECK_THAT(asked.out, ContainsSubstring("no running daemon configures it; the back-fill waits for such a daemon"));
  daemon = test.admin.start();
  CHECK(test.admin.fixture.wait_done("late").is_perfect());
}
