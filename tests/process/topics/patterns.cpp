// Topics that a pattern matches, and topics that appear after the first start.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a pattern that also matches Kafka's internal topics reads none of them") {
  DaemonFixture fixture{1};
  const std::string excluded = GENERATE("", ", exclude: [nothing]");
  fixture.config.topics = {"{pattern: \"^(__|" + fixture.topic + "$)\"" + excluded + "}"};
  const auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the brokers have noted it in theirs", [&] {
    return fixture.kafka.committed(fixture.config.group, fixture.topic) == fixture.kafka.ends(fixture.topic);
  });
  CHECK(command(fixture.config, {"check"}).out.find("matches 1 topics now") != std::string::npos);
  holds_for("nothing comes of that", milliseconds{2000}, [&] {
    return fixture.database.number("select count(*) from inbox.lag") == 1 &&
           fixture.database.number("select count(*) from inbox.quarantine") == 0;
  });
  CHECK(daemon->count_in_log("no configured topic matches") == 0);
}

// fault: a pattern with an excluded topic
TEST_CASE("an excluded topic is not read, and holds up none of its pattern") {
  DaemonFixture fixture{1};
  fixture.kafka.create_topic(1, fixture.topic + ".eu.DLT");
  fixture.kafka.produce({event_message(fixture.topic + ".eu.DLT", "5e000000-0000-4000-8000-000000000001")});
  fixture.config.topics = {"{pattern: '^" + fixture.topic + "', exclude: ['" + fixture.topic + ".*.DLT']}"};
  const auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(command(fixture.config, {"check"}).out.find("matches 1 topics now") != std::string::npos);
  CHECK(fixture.database.number("select count(*) from inbox.lag") == 1);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 20);
}

TEST_CASE("check lists the topics that the daemon's pattern would match, also with GNU extensions") {
  DaemonFixture fixture{1};
  const auto prefix = fixture.topic.substr(0, fixture.topic.size() - 2);
  fixture.config.topics = {"{pattern: '^" + prefix + "\\w+$'}"};
  CHECK(command(fixture.config, {"check"}).out.find("matches 1 topics now") != std::string::npos);
}

TEST_CASE("a topic that later matches the pattern starts at its beginning, also with start: end") {
  DaemonFixture fixture{1};
  const std::string prefix = random_name("family");
  fixture.kafka.create_topic(1, prefix + ".first");
  fixture.config.topics = {"{pattern: \"^" + prefix + "\\\\.\", start: end}"};
  const auto daemon = fixture.start();
  fixture.database.wait_for("the first topic is known", "select count(*) from inbox.lag", 1);
  const auto later = fixture.kafka.create_topic(1, prefix + ".later");
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back("0f000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i));
    messages.push_back(event_message(later, ids.back()));
  }
  fixture.kafka.produce(messages);
  fixture.note(ids);
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("topics that do not exist at the first start start at their beginning when created, also with start: end") {
  DaemonFixture fixture{1};
  const std::string prefix = random_name("family");
  const std::string named = random_name("named");
  fixture.config.topics = {"{pattern: \"^" + prefix + "\\\\.\", start: end}", "{name: " + named + ", start: end}"};
  auto daemon = fixture.start();
  fixture.database.wait_for("the first start is noted", "select count(*) from inbox.topic_start", 2);
  daemon->stop();
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (const std::string& topic : {prefix + ".first", named}) {
    fixture.kafka.create_topic(1, topic);
    for (int i = 0; i < 20; ++i) {
      ids.push_back("0d000000-0000-4000-8000-" + std::to_string(100'000'000'000 + static_cast<int>(ids.size())));
      messages.push_back(event_message(topic, ids.back()));
    }
  }
  fixture.kafka.produce(messages);
  fixture.note(ids);
  daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
}
