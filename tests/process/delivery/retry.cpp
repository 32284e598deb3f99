#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>
#include <regex>

#include "process/support/admin_fixture.hpp"
#include "support/http.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Start times of an event's attempts, in milliseconds after its first.
std::vector<std::int64_t> moments(const Recording& recording, const std::string& id) {
  std::vector<std::int64_t> out;
  for (const auto& one : recording.all()) {
    if (one.event_id == id) out.push_back(one.monotonic_ms);
  }
  std::sort(out.begin(), out.end());
  const std::int64_t first = out.empty() ? 0 : out.front();
  for (auto& moment : out) moment -= first;
  return out;
}

std::string text_of(const std::vector<std::int64_t>& moments) {
  return std::accumulate(
      moments.begin(), moments.end(), std::string{},
      [](const std::string& text, std::int64_t moment) { return text + std::to_string(moment) + " "; });
}

}  // namespace

TEST_CASE("a handler that fails twice succeeds at the third attempt, each at the right time") {
  DaemonFixture fixture{2};
  fixture.set("fail_first", "2");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 5, backoff: exponential, base: 400ms, jitter: 0}"};
  const auto daemon = fixture.start();
  const auto ids = fixture.produce(40);
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 120);
  std::int64_t latest = 0;
  for (const auto& id : ids) {
    const auto when = moments(fixture.recording, id);
    REQUIRE(when.size() == 3);
    INFO(text_of(when));
    CHECK(when[1] >= 400);
    CHECK(when[2] - when[1] >= 800);
    latest = std::max({latest, when[1] - 400, when[2] - when[1] - 800});
  }
  WARN("40 events failed twice; their retries were at most " << latest << " ms late");
  CHECK(latest < 1500);
  CHECK(fixture.database.number("select count(*) from inbox.failures where error_class = 'test.failure'") == 80);
  CHECK(fixture.database.number("select count(*) from inbox.deliveries where state = 'done' and attempts = 3") == 40);
}

TEST_CASE("linear and fixed backoff keep their delays and the cap") {
  DaemonFixture fixture{1};
  fixture.set("fail_first", "3");
  const bool is_linear = GENERATE(true, false);
  fixture.config.handlers[0].more = {is_linear ? "retry: {backoff: linear, base: 1s, cap: 1500ms, jitter: 0}"
                                               : "retry: {backoff: fixed, base: 1s, jitter: 0}"};
  const auto daemon = fixture.start();
  const auto id = fixture.produce(1).at(0);
  CHECK(fixture.wait_done().is_perfect());
  const auto when = moments(fixture.recording, id);
  WARN((is_linear ? "linear: " : "fixed: ") << text_of(when));
  REQUIRE(when.size() == 4);
  const int later = is_linear ? 1'500 : 1'000;
  CHECK(when[1] >= 1'000);
  CHECK(when[2] - when[1] >= later);
  CHECK(when[3] - when[2] >= later);
  // No retry is early. A delay that wrongly grows takes 3 s here; a right delay may be a second late.
  CHECK(when[3] - when[2] < 2'500);
}

TEST_CASE("an event that always fails is dead after max_attempts with every error; its neighbours are done") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 3, backoff: fixed, base: 100ms, jitter: 0}",
                                     "events_per_call: 50"};
  std::vector<Message> messages;
  std::vector<std::string> good;
  for (int i = 0; i < 200; ++i) {
    const bool bad = i % 50 == 25;
    const std::string id = "0a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i);
    messages.push_back(event_message(fixture.topic, id, "{}", bad ? "Bad" : "Good"));
    if (!bad) good.push_back(id);
  }
  fixture.kafka.produce(messages);
  fixture.note(good);
  const auto daemon = fixture.start();
  fixture.wait_done();
  fixture.database.wait_for("the bad ones are dead", "select count(*) from inbox.dead_letters", 4);
  const auto counts = fixture.counts();
  WARN(counts.text());
  CHECK(counts.done == 196);
  CHECK(counts.pending == 0);
  CHECK(counts.dead == 4);
  CHECK(counts.calls == 196 + 4 * 3);
  CHECK(fixture.database.number("select count(*) from inbox.dead_letters where attempts = 3 and event_type = 'Bad' and "
                                "jsonb_array_length(reasons) = 3") == 4);
  CHECK(fixture.database.text("select string_agg(r ->> 'message', ', ' order by (r ->> 'attempt')::int) from "
                              "(select reasons from inbox.dead_letters limit 1) d, jsonb_array_elements(reasons) r") ==
        "told to fail on attempt 1, told to fail on attempt 2, told to fail on attempt 3");

  const auto listed = command(fixture.config, {"dead", "list", "--json"});
  CHECK(listed.status == ExitStatus{0, 0});
  CHECK_THAT(listed.out, Catch::Matchers::ContainsSubstring("test.failure"));
}

TEST_CASE("the verdict dead dead-letters at once") {
  DaemonFixture fixture{1};
  fixture.set("dead_type", "Hopeless");
  const auto daemon = fixture.start();
  fixture.kafka.produce({event_message(fixture.topic, "0b000000-0000-4000-8000-000000000000", "{}", "Hopeless")});
  fixture.produce(20);
  CHECK(fixture.wait_done().dead == 1);
  CHECK(fixture.database.text("select attempts || ' ' || last_error from inbox.dead_letters") == "1 told to be dead");
  const std::regex line{" event_id=" + fixture.database.text("select event_id from inbox.dead_letters") +
                        " handler=recorder topic=" + fixture.topic +
                        " partition=0 offset=0 key=[^\n]* attempt=1 error_class=[^\n]* error=\"told to be dead\"[^\n]* "
                        "kind=settler.event_dead\n"};
  wait_until("the log names the event", [&] { return std::regex_search(daemon->log(), line); });
}

TEST_CASE("an event that the handler skips is finished, listed and counted as skipped") {
  AdminFixture admin;
  DaemonFixture& fixture = admin.fixture;
  fixture.set("skip_type", "NotMine");
  fixture.config.handlers[0].more = {"mode: sequential", "fuse: {failures: 2}"};
  const auto daemon = admin.start();
  fixture.produce(4, "NotMine");
  fixture.produce(6);
  fixture.database.wait_for("all are finished",
                            "select count(*) from inbox.deliveries where finished_at is not null", 10);
  CHECK(fixture.database.text("select string_agg(state || ' ' || n, ', ' order by state) from "
                              "(select state, count(*) n from inbox.deliveries group by 1) s") == "done 6, skipped 4");
  CHECK(fixture.recording.count() == 10);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  const auto listed = command(fixture.config, {"events", "list", "--handler", "recorder", "--state", "skipped"});
  CHECK(std::count(listed.out.begin(), listed.out.end(), '\n') >= 4);
  CHECK_THAT(listed.out, Catch::Matchers::ContainsSubstring("NotMine"));
  CHECK(gauge(admin.port, "inboxd_attempts_total{handler=\"recorder\",outcome=\"skipped\"}") == 4);
}

TEST_CASE("replayed dead letters are handled again, from the first attempt") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 2, backoff: fixed, base: 50ms}"};
  {
    const auto daemon = fixture.start();
    fixture.produce(10, "Bad");
    fixture.database.wait_for("all are dead", "select count(*) from inbox.dead_letters", 10);
    CHECK(daemon->stop() == ExitStatus{0, 0});
  }
  fixture.set("fail_type", "None");  // repaired
  const auto daemon = fixture.start();
  const auto replayed = command(fixture.config, {"dead", "replay", "--handler", "recorder", "--yes"});
  INFO(replayed.out << replayed.err);
  CHECK(replayed.status == ExitStatus{0, 0});
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.dead == 0);
  CHECK(counts.calls == 30);
}

TEST_CASE("a slow handler does not delay another handler, and both instances share a backlog") {
  DaemonFixture fixture{2};
  fixture.set("takes", "20ms");
  auto quick = fixture.config.handlers[0];
  quick.name = "quick";
  quick.settings.erase("takes");
  fixture.config.handlers.push_back(quick);
  fixture.produce(600);
  const auto one = fixture.start();
  const auto counts = fixture.wait_done("quick");
  CHECK(counts.is_perfect());
  CHECK(fixture.counts("recorder").done < 600);  // the slow handler is still busy
  const auto two = fixture.start();
  CHECK(fixture.wait_done("recorder").is_perfect());
  std::map<int, int> by_process;
  for (const auto& one_call : fixture.recording.all()) {
    if (one_call.handler == "recorder") ++by_process[one_call.process_id];
  }
  REQUIRE(by_process.size() == 2);
  WARN("600 events of 20 ms: the first instance did " << by_process[one->process().id()] << ", the one that came later "
                                                      << by_process[two->process().id()]);
}

// fault: handler loops for ever
TEST_CASE("an event that takes too long, or forever, is dead-lettered alone; the rest of its calls is done") {
  const std::string kind = GENERATE("slow", "hang");
  DaemonFixture fixture{1};
  fixture.set(kind + "_type", "Bad");
  fixture.config.handlers[0].more = {"deadline: 300ms", "concurrency: 4", "events_per_call: 10",
                                     "retry: {base: 100ms, max_attempts: 2}"};
  fixture.produce(4);
  const auto bad = fixture.produce(1, "Bad");
  fixture.produce(25);
  const auto daemon = fixture.start();
  fixture.database.wait_for("all are settled, one dead", "select count(*) from inbox.dead_letter", 1);
  fixture.database.wait_for(
      "the others are done",
      "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome where outcome = 'done'", 29);
  CHECK(fixture.database.text("select event_id from inbox.dead_letter") == bad.front());
  CHECK(fixture.database.number("select count(*) from inbox.failure where event_id <> $1::uuid", {bad.front()}) == 0);
  const auto expected = kind == "slow" ? "test.slow" : "deadline";
  CHECK(fixture.database.number("select count(*) from inbox.failure where error_class = $1", {expected}) == 2);
}

TEST_CASE("status shows a handler that was stopped because its calls never return, with the remedy") {
  DaemonFixture fixture{1};
  fixture.set("takes", "10m");
  fixture.config.handlers[0].more = {"deadline: 100ms", "concurrency: 1", "events_per_call: 1", "retry: {base: 50ms}"};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const auto daemon = fixture.start();
  fixture.produce(3);
  daemon->wait_log("kind=dispatcher.handler_stopped");
  std::string expected;
  wait_until(
      "the status says so",
      [&] {
        expected = command(fixture.config, {"status"}).out;
        return expected.find("handler recorder is stopped: 2 calls never returned; fix it and restart") !=
               std::string::npos;
      },
      milliseconds{30'000}, [&] { return expected; });
  CHECK(gauge(port, "inboxd_handler_stopped{handler=\"recorder\"}") == 1);
  CHECK(gauge(port, "inboxd_call_deadlines_total{handler=\"recorder\"}") == 2);
}
