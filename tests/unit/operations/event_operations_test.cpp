// The states and the history of an event.
#include "operations/event_operations.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using namespace inboxd::operations;
using std::chrono::microseconds;

namespace {

EventFile file() {
  EventFile out;
  out.event.emplace();
  out.event->document = {{"topic", "orders"}, {"partition", 0}};
  out.event->received_at = 1'000'000;
  return out;
}

DeadLetter dead_letter(event::Microseconds died_at) {
  DeadLetter out;
  out.handler = "mail";
  out.state = "dead";
  out.died_at = died_at;
  out.document = {{"attempts", 3}, {"last_error", "timeout"}};
  return out;
}

std::string states(const EventFile& of) {
  std::string out;
  for (const auto& state : handler_states(of)) {
    if (!out.empty()) out += " ";
    out += state.at("handler").get<std::string>() + ":" + state.at("state").get<std::string>();
  }
  return out;
}

std::vector<std::string> story(const EventFile& of) {
  std::vector<std::string> out;
  for (const auto& moment : timeline_of(of)) out.push_back(moment.at("what"));
  return out;
}

}  // namespace

TEST_CASE("a handler's state is its pending delivery, else its dead letter, else its last outcome") {
  auto it = file();
  it.history.outcomes = {{"mail", "dead", 3, 2'000'000, {}}, {"mail", "done", 1, 3'000'000, {}}};
  CHECK(states(it) == "mail:done");
  it.dead = {dead_letter(2'000'000)};
  CHECK(states(it) == "mail:dead");
  OpenDelivery open;
  open.handler = "mail";
  open.is_due = true;
  it.history.deliveries = {open};
  CHECK(states(it) == "mail:due");
}

TEST_CASE("a delivery is leased, retrying or due") {
  auto it = file();
  it.history.deliveries.resize(3);
  it.history.deliveries[0].handler = "a";
  it.history.deliveries[0].is_leased = true;
  it.history.deliveries[1].handler = "b";
  it.history.deliveries[1].attempts = 2;
  it.history.deliveries[2].handler = "c";
  it.history.deliveries[2].attempts = 2;
  it.history.deliveries[2].is_due = true;
  CHECK(states(it) == "a:leased b:retrying c:due");
}

TEST_CASE("a timeline is in the order of time, from the producer's clock to the last outcome") {
  auto it = file();
  it.event->occurred_at = 800'000;
  it.event->kafka_timestamp = 900'000;
  it.history.failures = {{"mail", 1, 2'000'000, "timeout", "no answer", microseconds{500'000}}};
  it.history.outcomes = {{"mail", "done", 2, 5'000'000, Worker{"host-a", 42}}};
  it.history.notes = {{"dead replay", "ann@host", 4'000'000}};
  CHECK(story(it) == std::vector<std::string>{"occurred", "written to Kafka", "received", "attempt 1",
                                              "attempt 1 failed", "dead replay", "done"});
  const auto last = timeline_of(it).back();
  CHECK(last.at("at") == "1970-01-01T00:00:05Z");
  CHECK(last.at("detail") == "after 2 attempts by host-a (process 42)");
}

TEST_CASE("a timeline shows a dead letter once, also after its outcome was purged") {
  auto it = file();
  it.dead = {dead_letter(3'000'000)};
  CHECK(story(it) == std::vector<std::string>{"received", "dead"});
  it.history.outcomes = {{"mail", "dead", 3, 3'000'000, {}}};
  CHECK(story(it) == std::vector<std::string>{"received", "dead"});
}

TEST_CASE("a handler that subscribed to the event and has no state for it is missing, or waits for its back-fill") {
  auto it = file();
  it.expected = {{"lost", false}, {"mail", false}, {"new", true}};
  it.history.outcomes = {{"mail", "done", 1, 3'000'000, {}}};
  CHECK(states(it) == "lost:missing mail:done new:backfill");
}
