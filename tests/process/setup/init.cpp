// `inboxd init` on topics of several kinds.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "process/setup/pages.hpp"
#include "support/database.hpp"
#include "support/kafka.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

struct Topic {
  Kafka kafka;
  Database database;
  std::string name = kafka.create_topic(2);
  TempFolder folder;

  Finished init(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{daemon_program(), "init",   "--brokers", kafka.brokers(),
                                       "--topic",        name,     "--database", database.url(),
                                       "--out",          file()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_to_end({arguments});
  }
  Finished run_check() const { return run_to_end({{daemon_program(), "--config", file(), "check"}}); }
  std::string file() const { return (folder / "inboxd.yaml").string(); }
  std::string text() const { return read_file(file()); }
  /// The file works: `check` finds no problem with database, brokers and topic.
  void check() {
    write_file(file(), replaced(text(), {{"\nkafka:", "  schema: " + database.schema() + "\nkafka:"}}) +
                           "admin: {listen: off}\n");
    CHECK(run_to_end({{daemon_program(), "--config", file(), "migrate"}}).status == ExitStatus{0, 0});
    const auto checked = run_check();
    INFO(checked.out << checked.err);
    CHECK(checked.status == ExitStatus{0, 0});
    CHECK_THAT(checked.out, !ContainsSubstring("problem"));
  }
};

const std::string uuid = "550e8400-e29b-41d4-a716-44665544000";

}  // namespace

TEST_CASE("init recognises CloudEvents, says what it saw, and writes a configuration that check accepts") {
  Topic topic;
  for (int n = 0; n < 4; ++n) {
    topic.kafka.produce({Message{.topic = topic.name,
                                 .key = n == 0 ? std::nullopt : std::optional<std::string>{"k"},
                                 .payload = R"({"secret": "hush"})",
                                 .headers = {{"ce_specversion", "1.0"}, {"ce_id", uuid + std::to_string(n)},
                                             {"ce_source", "/shop"}, {"ce_type", "made"}}}});
  }
  const auto made = topic.init();
  INFO(made.out << made.err);
  REQUIRE(made.status == ExitStatus{0, 0});
  CHECK_THAT(made.out, ContainsSubstring("looked at 4 records of 2 partitions") &&
                           ContainsSubstring("4 of 4 records in envelope cloudevents") &&
                           ContainsSubstring("1 of 4 records without a key") &&
                           ContainsSubstring("next: inboxd --config"));
  CHECK_THAT(made.out + made.err + topic.text(), !ContainsSubstring("hush") && !ContainsSubstring("secret"));
  CHECK_THAT(topic.text(), ContainsSubstring("envelope: cloudevents") && ContainsSubstring("missing_key: unordered") &&
                               !ContainsSubstring("on_missing_id"));
  topic.check();
}

TEST_CASE("init proposes ids for JSON without an envelope, and events work by their position") {
  Topic topic;
  for (int n = 0; n < 3; ++n) {
    topic.kafka.produce({Message{.topic = topic.name, .payload = R"({"eventId": "e)" + std::to_string(n) + R"("})",
                                 .headers = {{"message-id", "the same"}}}});
  }
  const auto made = topic.init({"--json"});
  INFO(made.out << made.err);
  REQUIRE(made.status == ExitStatus{0, 0});
  const auto seen = json::parse(made.out);
  CHECK(seen.at("records") == 3);
  CHECK(seen.at("envelope") == "auto");
  CHECK_THAT(topic.text(), ContainsSubstring("    on_missing_id: position") &&
                               ContainsSubstring(R"(custom: {id: "json:/eventId"})") &&
                               ContainsSubstring("mode: single") && !ContainsSubstring("header:message-id"));
  topic.check();
}

TEST_CASE("init says that a schema registry is needed, for Confluent's and Apicurio's bytes") {
  Topic topic;
  const std::string confluent = std::string{"\0\0\0\0\7", 5} + "\x02\x06" "abc";
  const std::string apicurio = std::string{"\0\0\0\0\0\0\0\0\7", 9} + "\x02\x06" "abc";
  topic.kafka.produce({Message{.topic = topic.name, .key = "a", .payload = confluent},
                       Message{.topic = topic.name, .key = "b", .payload = apicurio},
                       Message{.topic = topic.name, .key = "c", .payload = std::nullopt},
                       Message{.topic = topic.name,
                               .key = "d",
                               .payload = "\x02\x06" "abc",
                               .headers = {{"apicurio.value.globalId", std::string{"\0\0\0\0\0\0\0\7", 8}}}}});
  const auto made = topic.init();
  INFO(made.out << made.err);
  REQUIRE(made.status == ExitStatus{0, 0});
  CHECK_THAT(made.out, ContainsSubstring("1 of 4 records with Confluent's magic byte") &&
                           ContainsSubstring("1 of 4 records with Apicurio's magic byte") &&
                           ContainsSubstring("1 of 4 records with a schema's id in a header") &&
                           ContainsSubstring("1 of 4 records without a value"));
  CHECK_THAT(topic.text(),
             ContainsSubstring("need their schema registry") && ContainsSubstring("    value: {format: avro"));
  const auto refused = topic.run_check();
  CHECK(refused.status == ExitStatus{78, 0});
  CHECK_THAT(refused.out, ContainsSubstring("SCHEMA_REGISTRY_URL"));
}

TEST_CASE("init writes the defaults for a topic without records, and replaces no file without --force") {
  Topic topic;
  REQUIRE(topic.init().status == ExitStatus{0, 0});
  CHECK_THAT(topic.text(), ContainsSubstring("had no records to look at") && ContainsSubstring("envelope: auto"));
  const auto refused = topic.init();
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.err, ContainsSubstring("exists; pass --force"));
  CHECK(topic.init({"--force"}).status == ExitStatus{0, 0});
  topic.check();
}

TEST_CASE("init reads no more records than its limits, and says so") {
  Topic topic;
  const std::string large(400'000, 'x');
  for (int n = 0; n < 4; ++n) {
    topic.kafka.produce({Message{.topic = topic.name, .payload = large, .partition = n % 2}});
  }
  const auto made = topic.init({"--records", "1"});
  CHECK_THAT(made.out, ContainsSubstring("looked at 2 records"));
  const auto cut = topic.init({"--mebibytes", "1", "--force"});
  CHECK_THAT(cut.out, ContainsSubstring("looked at 3 records") && ContainsSubstring("the limit of bytes or time"));
}

TEST_CASE("init names what is missing, and leaves no file behind if the brokers or the topic are not there") {
  Topic topic;
  const auto refused = [&](const std::vector<std::string>& arguments, int status, const std::string& message) {
    std::vector<std::string> all{daemon_program(), "init", "--out", topic.file()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto finished = run_to_end({all});
    INFO(finished.err);
    CHECK(finished.status == ExitStatus{status, 0});
    CHECK_THAT(finished.err, ContainsSubstring(message));
    CHECK_FALSE(std::filesystem::exists(topic.file()));
  };
  const std::string brokers = topic.kafka.brokers();
  refused({}, 64, "pass --brokers, --topic");
  refused({"--topic", "orders", "--brokers", "127.0.0.1:1"}, 69, "127.0.0.1:1");
  refused({"--topic", "nowhere", "--brokers", brokers}, 1, "nowhere");
  refused({"--topic", "bad name", "--brokers", brokers}, 64, "topics[0].name");
  const auto refused_property = [&](const std::string& property, const std::string& message) {
    refused({"--topic", "t", "--brokers", brokers, "--kafka-property", property}, 64, message);
  };
  refused_property("sasl.password=hush", "pass env:NAME or file:PATH");
  refused_property("sasl", "takes NAME=VALUE");
  refused_property("sasl.password=env:NOT_SET", "NOT_SET");
}
