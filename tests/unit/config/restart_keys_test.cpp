#include <catch2/catch_test_macros.hpp>

#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;
using Keys = std::vector<std::string>;

TEST_CASE("a key that a reload can change needs no restart") {
  const Settings before = load(needed).settings;
  Settings after = before;
  CHECK(restart_needed(before, after).empty());
  after.log.level = inboxd::base::LogLevel::debug;
  after.drain = std::chrono::seconds{1};
  after.retention.events = std::nullopt;
  after.topics[0].retention = std::chrono::hours{72};
  after.handlers[0].concurrency = 3;
  after.handlers[0].plugin = "other";
  after.handlers.push_back(after.handlers[0]);
  after.handlers[1].name = "second";
  CHECK(restart_needed(before, after).empty());
}

TEST_CASE("each key that needs a restart is named") {
  Settings before = load(needed).settings;
  before.topics.push_back(before.topics[0]);
  before.topics[1].name = "second";
  Settings after = before;
  after.kafka.group = "other";
  after.kafka.properties["debug"] = "all";
  after.database.password = Secret{"x"};
  after.topics[1].payload_limit = 5;
  after.topics[1].custom.id = "key";
  CHECK(restart_needed(before, after) ==
        Keys{"database.password", "kafka.group", "kafka.properties", "topics[1].custom.id", "topics[1].payload_limit"});
}

TEST_CASE("topics that are added, removed or reordered need a restart") {
  const Settings before = load(needed).settings;
  Settings after = before;
  after.topics.push_back(after.topics[0]);
  after.topics[1].name = "second";
  CHECK(restart_needed(before, after) == Keys{"topics"});
  CHECK(restart_needed(after, before) == Keys{"topics"});
}

TEST_CASE("a reload takes the retention of topics, unless their list has changed") {
  Settings running = load(needed).settings;
  std::vector<Topic> read = running.topics;
  read[0].retention = std::chrono::hours{72};
  read[0].payload_limit = 5;
  take_retention(running.topics, read);
  CHECK(running.topics[0].retention == std::chrono::hours{72});
  CHECK(running.topics[0].payload_limit != 5);
  read[0].name = "another";
  read[0].retention = std::nullopt;
  take_retention(running.topics, read);
  CHECK(running.topics[0].retention == std::chrono::hours{72});
}

TEST_CASE("a kept key keeps its origin, with all keys below it; other keys get the new origin") {
  const auto at = [](int line) { return Origin{Origin::From::file, {line, 1}}; };
  const std::map<std::string, Origin> before{
      {"kafka.group", at(5)}, {"kafka.properties.debug", at(6)}, {"topics[0].name", at(8)}, {"log.level", at(9)}};
  std::map<std::string, Origin> after{
      {"kafka.group", at(15)}, {"kafka.groups", at(16)}, {"topics[1].name", at(18)}, {"log.level", at(19)}};
  keep_origins({"kafka.group", "kafka.properties", "topics"}, before, after);
  CHECK(after == std::map<std::string, Origin>{{"kafka.group", at(5)},
                                               {"kafka.groups", at(16)},
                                               {"kafka.properties.debug", at(6)},
                                               {"topics[0].name", at(8)},
                                               {"log.level", at(19)}});
}

TEST_CASE("a secret whose file has another text needs no restart, a secret from another file does") {
  FakeEnvironment environment;
  environment.files = {{"/p", "one"}, {"/k", "two"}, {"/q", "one"}};
  const std::string text =
      replaced(replaced(needed, "{url:", "{password: {file: /p}, url:"),
               "group:", "properties: {sasl.password: {file: /k}}, group:");
  const auto before = load(text, environment);
  environment.files = {{"/p", "three"}, {"/k", "four"}, {"/q", "one"}};
  const auto after = load(text, environment);
  REQUIRE(after.ok());
  CHECK(after.settings.kafka.properties.at("sasl.password") == "four");
  CHECK(restart_needed(before.settings, after.settings).empty());
  const auto moved = load(replaced(text, "/p}", "/q}"), environment);
  CHECK(restart_needed(before.settings, moved.settings) == std::vector<std::string>{"database.password"});
}

TEST_CASE("a reload adds and removes local topics, and needs a restart for the others") {
  Settings running = load(needed).settings;
  Settings after = running;
  Topic local;
  local.name = "signup";
  local.source = Source::local;
  after.topics.insert(after.topics.begin(), local);
  CHECK(restart_needed(running, after).empty());
  CHECK(restart_needed(after, running).empty());
  after.topics[1].payload_limit = 5;
  CHECK(restart_needed(running, after) == Keys{"topics[1].payload_limit"});
  take_local_topics(running.topics, after.topics);
  REQUIRE(running.topics.size() == 2);
  CHECK(running.topics[0] == local);
  CHECK(running.topics[1].payload_limit != 5);
  take_local_topics(running.topics, {after.topics[1]});
  CHECK(running.topics.size() == 1);
}
