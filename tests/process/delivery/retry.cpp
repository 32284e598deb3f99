// Retries at the right moments, dead letters with every reason, neighbours that are not held up.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>

#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// When the attempts of an event began, in milliseconds after its first.
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

TEST_CASE("a handler that fails twice succeeds the third time, at the right moments") {
  Stage stage{2};
  stage.set("fail_first", "2");
  stage.config.handlers[0].more = {"retry: {max_attempts: 5, backoff: exponential, base: 400ms, jitter: 0}"};
  const auto daemon = stage.start();
  const auto ids = stage.produce(40);
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 120);
  std::int64_t latest = 0;
  for (const auto& id : ids) {
    const auto when = moments(stage.recording, id);
    REQUIRE(when.size() == 3);
    INFO(text_of(when));
    CHECK(when[1] >= 400);  // never early
    CHECK(when[2] - when[1] >= 800);
    latest = std::max({latest, when[1] - 400, when[2] - when[1] - 800});
  }
  WARN("40 events failed twice; their retries were at most " << latest << " ms late");
  CHECK(latest < 1500);
  CHECK(stage.database.number("select count(*) from inbox.failures where error_class = 'test.failure'") == 80);
  CHECK(stage.database.number("select count(*) from inbox.deliveries where state = 'done' and attempts = 3") == 40);
}

TEST_CASE("linear and fixed backoff keep their delays, and a cap is kept") {
  Stage stage{1};
  stage.set("fail_first", "3");
  const bool is_linear = GENERATE(true, false);
  stage.config.handlers[0].more = {is_linear ? "retry: {backoff: linear, base: 1s, cap: 1500ms, jitter: 0}"
                                             : "retry: {backoff: fixed, base: 1s, jitter: 0}"};
  const auto daemon = stage.start();
  const auto id = stage.produce(1).at(0);
  CHECK(stage.wait_done().is_perfect());
  const auto when = moments(stage.recording, id);
  WARN((is_linear ? "linear: " : "fixed: ") << text_of(when));
  REQUIRE(when.size() == 4);
  const int later = is_linear ? 1'500 : 1'000;
  CHECK(when[1] >= 1'000);
  CHECK(when[2] - when[1] >= later);
  CHECK(when[3] - when[2] >= later);
  // None is early, so a delay that grows, or grows on, takes 3 s here: what is right has at least a second to be late.
  CHECK(when[3] - when[2] < 2'500);
}

TEST_CASE("an event that always fails is dead after max_attempts with every reason; its neighbours are done") {
  Stage stage{1};
  stage.set("fail_type", "Bad");
  stage.config.handlers[0].more = {"retry: {max_attempts: 3, backoff: fixed, base: 100ms, jitter: 0}",
                                   "events_per_call: 50"};
  std::vector<Message> messages;
  std::vector<std::string> good;
  for (int i = 0; i < 200; ++i) {
    const bool bad = i % 50 == 25;
    const std::string id = "0a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i);
    messages.push_back(event_message(stage.topic, id, "{}", bad ? "Bad" : "Good"));
    if (!bad) good.push_back(id);
  }
  stage.kafka.produce(messages);
  stage.note(good);
  const auto daemon = stage.start();
  stage.wait_done();
  stage.database.wait_for("the bad ones are dead", "select count(*) from inbox.dead_letters", 4);
  const auto tally = stage.tally();
  WARN(tally.text());
  CHECK(tally.done == 196);
  CHECK(tally.outstanding == 0);
  CHECK(tally.dead == 4);
  CHECK(tally.calls == 196 + 4 * 3);
  CHECK(stage.database.number("select count(*) from inbox.dead_letters where attempts = 3 and event_type = 'Bad' and "
                              "jsonb_array_length(reasons) = 3") == 4);
  CHECK(stage.database.text("select string_agg(r ->> 'message', ', ' order by (r ->> 'attempt')::int) from "
                            "(select reasons from inbox.dead_letters limit 1) d, jsonb_array_elements(reasons) r") ==
        "told to fail on attempt 1, told to fail on attempt 2, told to fail on attempt 3");

  const auto listed = command(stage.config, {"dead", "list", "--json"});
  CHECK(listed.status == ExitStatus{0, 0});
  CHECK_THAT(listed.out, Catch::Matchers::ContainsSubstring("test.failure"));
}

TEST_CASE("what the handler calls dead is dead at once") {
  Stage stage{1};
  stage.set("dead_type", "Hopeless");
  const auto daemon = stage.start();
  stage.kafka.produce({event_message(stage.topic, "0b000000-0000-4000-8000-000000000000", "{}", "Hopeless")});
  stage.produce(20);
  CHECK(stage.wait_done().dead == 1);
  CHECK(stage.database.text("select attempts || ' ' || last_error from inbox.dead_letters") == "1 told to be dead");
  daemon->wait_log(
      "settler: an event is dead event_id=" + stage.database.text("select event_id from inbox.dead_letters") +
      " handler=recorder topic=" + stage.topic + " partition=0 offset=0 attempts=1 error_class=");
}

TEST_CASE("dead letters that are replayed are handled again, from the first attempt") {
  Stage stage{1};
  stage.set("fail_type", "Bad");
  stage.config.handlers[0].more = {"retry: {max_attempts: 2, backoff: fixed, base: 50ms}"};
  {
    const auto daemon = stage.start();
    stage.produce(10, "Bad");
    stage.database.wait_for("all are dead", "select count(*) from inbox.dead_letters", 10);
    CHECK(daemon->stop() == ExitStatus{0, 0});
  }
  stage.set("fail_type", "None");  // mended
  const auto daemon = stage.start();
  const auto replayed = command(stage.config, {"dead", "replay", "--handler", "recorder", "--yes"});
  INFO(replayed.out << replayed.err);
  CHECK(replayed.status == ExitStatus{0, 0});
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.dead == 0);
  CHECK(tally.calls == 30);
}

TEST_CASE("a slow handler does not hold up another one, and both instances share a backlog") {
  Stage stage{2};
  stage.set("takes", "20ms");
  auto quick = stage.config.handlers[0];
  quick.name = "quick";
  quick.settings.erase("takes");
  stage.config.handlers.push_back(quick);
  stage.produce(600);
  const auto one = stage.start();
  const auto tally = stage.wait_done("quick");
  CHECK(tally.is_perfect());
  CHECK(stage.tally("recorder").done < 600);  // the slow one is still at it
  const auto two = stage.start();
  CHECK(stage.wait_done("recorder").is_perfect());
  std::map<int, int> by_process;
  for (const auto& one_call : stage.recording.all()) {
    if (one_call.handler == "recorder") ++by_process[one_call.process_id];
  }
  REQUIRE(by_process.size() == 2);
  WARN("600 events of 20 ms: the first instance did " << by_process[one->process().id()] << ", the one that came later "
                                                      << by_process[two->process().id()]);
}

TEST_CASE("an event that takes too long, or for ever, dies alone: what is in its calls with it is done") {
  const std::string kind = GENERATE("slow", "hang");
  Stage stage{1};
  stage.set(kind + "_type", "Bad");
  stage.config.handlers[0].more = {"deadline: 300ms", "concurrency: 4", "events_per_call: 10",
                                   "retry: {base: 100ms, max_attempts: 2}"};
  stage.produce(4);
  const auto bad = stage.produce(1, "Bad");
  stage.produce(25);
  const auto daemon = stage.start();
  stage.database.wait_for("all are settled, one dead", "select count(*) from inbox.dead_letter", 1);
  stage.database.wait_for(
      "the others are done",
      "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome where outcome = 'done'", 29);
  CHECK(stage.database.text("select event_id from inbox.dead_letter") == bad.front());
  CHECK(stage.database.number("select count(*) from inbox.failure where event_id <> $1::uuid", {bad.front()}) == 0);
  const auto said = kind == "slow" ? "test.slow" : "deadline";
  CHECK(stage.database.number("select count(*) from inbox.failure where error_class = $1", {said}) == 2);
}

TEST_CASE("a handler that is stopped because its calls never return shows in the status, with what to do") {
  Stage stage{1};
  stage.set("takes", "10m");
  stage.config.handlers[0].more = {"deadline: 100ms", "concurrency: 1", "events_per_call: 1", "retry: {base: 50ms}"};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const auto daemon = stage.start();
  stage.produce(3);
  daemon->wait_log("the handler is stopped, too many of its calls never returned");
  std::string said;
  wait_until(
      "the status says so",
      [&] {
        said = command(stage.config, {"status"}).out;
        return said.find("handler recorder is stopped: 2 calls never returned; restart after mending it") !=
               std::string::npos;
      },
      milliseconds{30'000}, [&] { return said; });
  CHECK(gauge(port, "inboxd_handler_stopped{handler=\"recorder\"}") == 1);
  CHECK(gauge(port, "inboxd_call_deadlines_total{handler=\"recorder\"}") == 2);
}
