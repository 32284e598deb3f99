#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

constexpr const char* id = "550e8400-e29b-41d4-a716-446655440000";

json explained(const ConfigText& config, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "explain");
  arguments.push_back("--json");
  const auto finished = command(config, arguments);
  INFO(finished.err);
  REQUIRE(finished.status == ExitStatus{0, 0});
  return json::parse(finished.out).at("records");
}

}  // namespace

TEST_CASE("explain shows a record of Kafka with its rules, event, handlers and body, without a database") {
  DaemonFixture fixture{2};
  fixture.config.url = "postgresql://nobody@127.0.0.1:1/none";
  fixture.config.handlers.front().types = {"OrderPlaced"};
  HandlerText other = fixture.config.handlers.front();
  other.name = "other";
  other.types = {"Refunded"};
  fixture.config.handlers.push_back(other);
  Message message = event_message(fixture.topic, id, R"("{\"n\": 7}")", "OrderPlaced");
  message.partition = 1;
  fixture.kafka.produce({message});
  const auto text = command(fixture.config, {"explain", "--topic", fixture.topic, "--offset", "1/0"});
  INFO(text.err);
  REQUIRE(text.status == ExitStatus{0, 0});
  CHECK_THAT(text.out, ContainsSubstring("RULE") && ContainsSubstring("there is no header cap-msg-id") &&
                           ContainsSubstring("there is a header id") && ContainsSubstring("the id, a UUID") &&
                           ContainsSubstring("{\"n\": 7}"));
  const auto records = explained(fixture.config, {"--topic", fixture.topic, "--offset", "1/0"});
  REQUIRE(records.size() == 1);
  CHECK(records[0].at("event").at("event_id") == id);
  CHECK(records[0].at("handlers") == json::array({"recorder"}));
  CHECK(records[0].at("body") == "{\"n\": 7}");
  const auto without = command(fixture.config, {"explain", "--topic", fixture.topic, "--offset", "1/0", "--no-body"});
  CHECK_THAT(without.out, !ContainsSubstring("7}"));
}

TEST_CASE("explain shows the newest records of all partitions, oldest first") {
  DaemonFixture fixture{2};
  for (int i = 0; i < 5; ++i) {
    Message message{.topic = fixture.topic, .payload = std::to_string(i), .partition = i % 2};
    message.timestamp_ms = 1'700'000'000'000 + i;
    fixture.kafka.produce({message});
  }
  const auto records = explained(fixture.config, {"--topic", fixture.topic, "--last", "3"});
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(records[i].at("body") == std::to_string(i + 2));
    CHECK(records[i].at("result") == "no_id");
  }
}

TEST_CASE("explain reads a quarantined record by today's rules, with the id that a retry gives it") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.kafka.produce({Message{.topic = fixture.topic, .payload = "{\"n\": 1}"}});
  fixture.database.wait_for("it is in quarantine", "select count(*) from inbox.quarantine", 1);
  const std::string number = fixture.database.text("select quarantine_id::text from inbox.quarantine");
  const auto before = explained(fixture.config, {"--quarantine", number});
  CHECK(before.at(0).at("result") == "no_id");
  CHECK(before.at(0).at("steps").back().at("rule") == "quarantine");
  fixture.config.topics = {"{name: " + fixture.topic + ", on_missing_id: position}"};
  const auto after = explained(fixture.config, {"--quarantine", number});
  const auto in_kafka = explained(fixture.config, {"--topic", fixture.topic, "--offset", "0/0"});
  CHECK(command(fixture.config, {"quarantine", "retry", "--all", "--yes"}).status == ExitStatus{0, 0});
  const std::string stored = fixture.database.text("select event_id::text from inbox.event");
  CHECK(after.at(0).at("event").at("event_id") == stored);
  CHECK(in_kafka.at(0).at("event").at("event_id") == stored);
  CHECK(command(fixture.config, {"explain", "--quarantine", number}).status == ExitStatus{1, 0});
}

TEST_CASE("explain reads a file as a record's value, without any server") {
  DaemonFixture fixture{1};
  fixture.config.url = "postgresql://nobody@127.0.0.1:1/none";
  fixture.config.brokers = "127.0.0.1:1";
  const TempFolder folder;
  const std::string file = folder / "value";
  std::ofstream{file} << "{\"n\": 1}";
  const auto records =
      explained(fixture.config, {"--topic", fixture.topic, file, "--header", std::string{"id="} + id, "--key", "k"});
  CHECK(records.at(0).at("event").at("event_id") == id);
  CHECK(records.at(0).at("key") == "k");
  CHECK(records.at(0).at("offset").is_null());
}

TEST_CASE("explain prints a sheet, the rules and the body") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: orders}"};
  const TempFolder folder;
  const std::string file = folder / "value";
  std::ofstream{file} << "{\"n\": 1}";
  const auto printed = command(fixture.config, {"explain", "--topic", "orders", file, "--header",
                                                std::string{"id="} + id, "--header", "eventType=OrderPlaced"});
  CHECK(printed.out == R"(record    a file, for topic orders
result    event
event_id  550e8400-e29b-41d4-a716-446655440000
type      OrderPlaced
handlers  recorder

RULE                      MATCHED  WHY
cloudevents structured    no       there is no header content-type
cloudevents binary        no       there is no header ce_id or ce_specversion
cap                       no       there is no header cap-msg-id
axon                      no       there is no header axon-message-id
nservicebus               no       there is no header NServiceBus.MessageId
masstransit               no       there are no headers MessageId and Content-Type
wolverine                 no       there are no headers id and message-type
dapr                      no       the value has no "pubsubname"
cloudevents in the value  no       the value has no "specversion"
eventuate                 no       the value has no "ID"
debezium                  no       the value has no "ts_ms"
outbox router             yes      there is a header id
identity                  yes      event_id 550e8400-e29b-41d4-a716-446655440000: the id, a UUID

body, before PostgreSQL makes it jsonb
  {"n": 1}
)");
}

TEST_CASE("explain names the mistake in its arguments, or the record that is not there") {
  DaemonFixture fixture{1};
  const auto refused = [&](std::vector<std::string> arguments, int status, const std::string& message) {
    arguments.insert(arguments.begin(), "explain");
    const auto finished = command(fixture.config, arguments);
    INFO(finished.err);
    CHECK(finished.status == ExitStatus{status, 0});
    CHECK_THAT(finished.err, ContainsSubstring(message));
  };
  refused({"--topic", fixture.topic}, 64, "pass one of --offset, --last, --quarantine or FILE");
  refused({"--last", "1"}, 64, "pass --topic");
  refused({"--topic", fixture.topic, "--last", "1", "--key", "k"}, 64, "belong to FILE");
  refused({"--topic", fixture.topic, "--offset", "7"}, 64, "--offset takes PARTITION/OFFSET");
  refused({"--topic", "elsewhere", "--last", "1"}, 1, "no entry of topics in the configuration");
  refused({"--topic", fixture.topic, "--offset", "1/0"}, 1, "has the partitions 0 to 0");
  refused({"--topic", fixture.topic, "--offset", "0/5"}, 1, "Kafka has the offsets 0 to 0 (exclusive)");
  refused({"--topic", fixture.topic, "--last", "1"}, 1, "has no record");
}
