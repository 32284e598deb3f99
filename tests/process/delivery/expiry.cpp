#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "process/support/daemon_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* expired = "select count(*) from inbox.dead_letters where state = 'expired'";

}  // namespace

TEST_CASE("an event that has waited too long is not called, but expires, and can be replayed") {
  const std::string mode = GENERATE("single", "sequential");
  DaemonFixture fixture{1};
  const std::string gate = fixture.recording.file().string() + ".gate";
  fixture.config.handlers[0].more = {"mode: " + mode, "concurrency: 1", "events_per_call: 1", "expire_after: 5s",
                                     "deadline: 30s"};
  fixture.set("gate", gate);
  const auto daemon = fixture.start();
  fixture.produce(1);  // it is called at once, and waits at the gate
  fixture.wait_stored(1);
  fixture.produce(29);
  fixture.wait_stored(30);
  fixture.database.wait_for("they are too old",
                            "select count(*) from inbox.event where received_at < clock_timestamp() - '5 s'::interval",
                            30);
  std::ofstream{gate} << "open";
  fixture.database.wait_for("those without a call have expired", expired, 29);
  CHECK(fixture.recording.count() == 1);
  CHECK(fixture.database.number("select count(*) from inbox.deliveries where state = 'expired' and attempts = 0") ==
        29);
  CHECK(fixture.database.number("select sum(inbox.count_of(offsets)) from inbox.outcome where outcome = 'expired'") ==
        29);
  const auto listed = command(fixture.config, {"dead", "list"});
  CHECK_THAT(listed.out, ContainsSubstring("expired"));
  const auto replayed = command(fixture.config, {"dead", "replay", "--handler", "recorder", "--yes"});
  CHECK(replayed.status == ExitStatus{0, 0});
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.recording.count() == 30);
}

TEST_CASE("all events of a topic expire: status says so, with their times and the remedy, until an event does not") {
  const bool is_misread = GENERATE(true, false);
  CAPTURE(is_misread);
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic +
                           ", envelope: custom, custom: {id: 'json:/id', time: 'json:/at', time_unit: ms}}"};
  fixture.config.handlers[0].more = {"expire_after: 1h"};
  const std::string at = is_misread ? "1795692457" : "1577836800000";  // seconds; 2020
  const auto produce = [&](const std::string& id, const std::string& time) {
    Message message{.topic = fixture.topic, .key = "k"};
    message.payload = "{\"id\": \"" + id + "\"" + (time.empty() ? "" : ", \"at\": " + time) + "}";
    fixture.kafka.produce({message});
  };
  for (const char* id : {"a", "b", "c"}) produce(id, at);
  const auto daemon = fixture.start();
  fixture.database.wait_for("they have expired", expired, 3);
  const auto status = [&] { return command(fixture.config, {"status"}).out; };
  const auto told = status();
  CHECK_THAT(told, ContainsSubstring("3 events of topic " + fixture.topic + " have expired for handler recorder"));
  CHECK_THAT(told, ContainsSubstring(is_misread ? "1970-01-21T" : "2020-01-01T"));
  CHECK_THAT(told, ContainsSubstring(is_misread ? "set custom.time_unit of the topic"
                                                : "raise expire_after of handler recorder"));
  produce("d", "");
  fixture.database.wait_for("an event is handled", "select count(*) from inbox.deliveries where state = 'done'", 1);
  produce("e", at);
  fixture.database.wait_for("another has expired", expired, 4);
  CHECK(status().find("have expired for handler") == std::string::npos);
}

TEST_CASE("no retry is planned for a time at which the event will have expired") {
  DaemonFixture fixture{1};
  fixture.config.handlers[0].more = {"expire_after: 1h", "retry: {backoff: fixed, base: 2h, jitter: 0}"};
  fixture.set("fail_type", "Bad");
  const auto daemon = fixture.start();
  fixture.produce(3, "Bad");
  fixture.database.wait_for("they have expired after one attempt",
                            expired + std::string{" and attempts = 1 and error_class = 'test.failure'"}, 3);
  CHECK(fixture.database.number("select count(*) from inbox.delivery") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.failure where attempt = 1") == 3);
}
