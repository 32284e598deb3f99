// Incidents as an operator meets them: a single `status` names the cause and the remedy.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "process/support/order_fixture.hpp"
#include "support/http.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Status {
  int code = 0;
  std::string text;
  nlohmann::json finding;  ///< of the kind that was asked for; null: none
};

Status status_of(const ConfigText& config, const std::string& kind) {
  const auto json = command(config, {"status", "--json"});
  Status out{json.status.code, json.out + json.err, nullptr};
  const auto document = nlohmann::json::parse(json.out, nullptr, false);
  if (!document.is_object()) return out;
  for (const auto& finding : document.at("findings")) {
    if (finding.at("kind") == kind) out.finding = finding;
  }
  return out;
}

/// Waits until a finding of the kind stands in the status, with `part` in its message.
Status wait_for(const ConfigText& config, const std::string& kind, const std::string& part = "") {
  Status out;
  const auto is_there = [&] {
    out = status_of(config, kind);
    return !out.finding.is_null() && out.finding.at("message").get<std::string>().find(part) != std::string::npos;
  };
  try {
    wait_until("status has a finding " + kind, is_there);
  } catch (const std::exception&) {
    FAIL("no finding " << kind << " in " << out.text);
  }
  return out;
}

std::string message_of(const Status& status) { return status.finding.at("message"); }
std::string remedy_of(const Status& status) { return status.finding.at("remedy"); }

const std::string slow_retry = "retry: {max_attempts: 50, backoff: fixed, base: 200ms, jitter: 0}";

}  // namespace

// fault: every call of a handler fails
TEST_CASE("every call fails: status says so, since when, with the last error and the keys that wait") {
  OrderFixture fixture{1, {slow_retry}};
  fixture.set("fail_type", "Bad");
  const auto daemon = fixture.start();
  fixture.events.produce(16, [](int i) { return KeyedEvents::Made{"key-" + std::to_string(i % 4), "Bad"}; });
  const auto status = wait_for(fixture.config, "handler_fails", "; 4 keys wait");
  CHECK(status.code == 1);
  CHECK_THAT(message_of(status), ContainsSubstring("calls of handler recorder failed since"));
  CHECK_THAT(message_of(status), ContainsSubstring("told to fail"));
  CHECK_THAT(remedy_of(status), ContainsSubstring("inboxd events retry --handler recorder"));
  CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring("1 problem, since 20"));
  daemon->wait_log("settler.event_failed");
}

TEST_CASE("a key is stuck: status names it, its error, and the events that wait for it") {
  OrderFixture fixture{1, {"retry: {max_attempts: 50, backoff: fixed, base: 1h, jitter: 0}"}};
  fixture.set("fail_type", "Bad");
  const auto daemon = fixture.start();
  fixture.events.produce(20, [](int i) {
    return KeyedEvents::Made{i % 2 == 0 ? "cust-7" : "key-" + std::to_string(i), i == 0 ? "Bad" : "Happened"};
  });
  const auto status = wait_for(fixture.config, "keys_blocked", "key cust-7: 9 events wait for a failed event");
  CHECK(status.code == 0);
  CHECK_THAT(remedy_of(status), ContainsSubstring("inboxd lanes list --handler recorder"));
}

TEST_CASE("the application is down: status names its address and error at once, and a problem after ten seconds") {
  DaemonFixture fixture{1};
  auto& handler = fixture.config.handlers[0];
  const std::string server = "http://127.0.0.1:" + std::to_string(free_port());
  handler.plugin = "http";
  handler.settings = {{"url", server + "/orders"}};
  handler.more = {"lease: 2s"};
  const auto checked = command(fixture.config, {"check"});
  CHECK_THAT(checked.out, ContainsSubstring("start the service, or correct settings.url"));
  const auto daemon = fixture.start();
  fixture.produce(5);
  const auto early = wait_for(fixture.config, "service_just_away");
  CHECK(early.code == 0);
  CHECK_THAT(message_of(early), ContainsSubstring("http.unreachable: " + server + ": "));
  const auto status = wait_for(fixture.config, "service_away", "5 events pending");
  CHECK(status.code == 1);
  CHECK_THAT(remedy_of(status), ContainsSubstring("start the service"));
}

// fault: a backlog grows
TEST_CASE("a handler is too slow: status has the rates, the busy calls and the remedy") {
  OrderFixture fixture{1, {"concurrency: 2"}};
  fixture.set("takes", "500ms");
  const auto daemon = fixture.start();
  for (int i = 0; i < 20; ++i) {
    fixture.produce(20);
    std::this_thread::sleep_for(milliseconds{1'000});  // the load
  }
  const auto status = wait_for(fixture.config, "handler_too_slow");
  CHECK(status.code == 0);
  CHECK_THAT(message_of(status), ContainsSubstring("/s are done, calls busy: "));
  CHECK_THAT(message_of(status), ContainsSubstring(" of 2"));
  CHECK_THAT(remedy_of(status), ContainsSubstring("raise concurrency of recorder"));
  CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring(" of 2"));
}

TEST_CASE("a bad deploy dead-letters everything: status has how many, since when, and of which class") {
  OrderFixture fixture{1};
  fixture.set("dead_type", "Bad");
  const auto daemon = fixture.start();
  fixture.events.produce(40, [](int i) { return KeyedEvents::Made{"key-" + std::to_string(i), "Bad"}; });
  const auto status = wait_for(fixture.config, "dead_letters_grow");
  CHECK(status.code == 1);
  CHECK_THAT(message_of(status), ContainsSubstring("of them in the last minute, all "));
  CHECK_THAT(remedy_of(status), ContainsSubstring("inboxd dead replay --handler recorder --error "));
}

// fault: all records in quarantine
TEST_CASE("all records of a topic go to quarantine: status has the reason and the setting to change") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + "}"};
  const auto daemon = fixture.start();
  for (int i = 0; i < 3; ++i) {
    fixture.kafka.produce({Message{.topic = fixture.topic, .payload = "{\"n\": 1}", .partition = 0}});
  }
  const auto status = wait_for(fixture.config, "topic_quarantined");
  CHECK(status.code == 1);
  CHECK_THAT(message_of(status), ContainsSubstring("records of topic " + fixture.topic + " went to quarantine since"));
  CHECK_THAT(remedy_of(status), ContainsSubstring("inboxd quarantine retry --topic " + fixture.topic));
}

TEST_CASE("a configuration was never started, and another runs: status with its file says so") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  auto other = fixture.config;
  other.handlers[0].name = "daily-report";
  const auto status = wait_for(other, "handlers_not_registered");
  CHECK(status.code == 1);
  CHECK_THAT(message_of(status), ContainsSubstring("handler daily-report of this file is not registered"));
}

TEST_CASE("events without a key reach a handler that keeps order: status says so, unless the file chooses") {
  OrderFixture fixture{1};
  const bool chooses = GENERATE(false, true);
  if (chooses) fixture.config.handlers[0].more.push_back("missing_key: partition");
  const auto daemon = fixture.start();
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) {
    ids.push_back("0a000000-0000-4000-8000-0000000000" + std::to_string(10 + i));
    messages.push_back(event_message(fixture.topic, ids.back(), "{}", "Happened"));
    messages.back().key.reset();
    messages.back().partition = 0;
  }
  fixture.kafka.produce(messages);
  fixture.note(ids);
  CHECK(fixture.wait_done().is_perfect());
  if (!chooses) {
    const auto status = wait_for(fixture.config, "events_without_key",
                                 "50 events of handler recorder have no key and run in no order");
    CHECK(status.code == 0);
    CHECK_THAT(remedy_of(status), ContainsSubstring("missing_key"));
  } else {
    std::vector<std::string> called;
    for (const auto& call : fixture.recording.all()) called.push_back(call.event_id);
    CHECK(called == ids);  // in the order of the partition
    CHECK(status_of(fixture.config, "events_without_key").finding.is_null());
  }
}
