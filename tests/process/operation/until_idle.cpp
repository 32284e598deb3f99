// Runs that end by themselves.
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process/support/stage.hpp"
#include "support/environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using nlohmann::json;

TEST_CASE("--until-idle stops with 0 once every event there was is settled, dead ones too") {
  Stage stage{3};
  stage.set("fail_type", "Bad");
  stage.config.handlers[0].more = {"retry: {max_attempts: 2, base: 200ms, jitter: 0}"};
  stage.produce(1000);
  stage.kafka.produce({event_message(stage.topic, "bad00000-0000-4000-8000-000000000000", "{}", "Bad")});
  Daemon daemon{stage.config, {"run", "--migrate", "--until-idle"}};
  CHECK(daemon.process().wait(milliseconds{45'000}) == ExitStatus{0, 0});
  const auto tally = stage.tally();
  WARN(tally.text());
  INFO(daemon.log());
  CHECK(tally.is_perfect());
  CHECK(tally.dead == 1);
  const auto again = command(stage.config, {"run", "--until-idle", "--json"});  // nothing to do
  CHECK(again.status == ExitStatus{0, 0});
  CHECK(json::parse(again.out).at("stored") == 0);
  CHECK(stage.tally().calls == tally.calls);
  stage.produce(3);
  const auto last = command(stage.config, {"run", "--until-idle", "--json"});
  INFO(last.out << last.err);
  CHECK(json::parse(last.out) == json::parse(R"({"stored": 3, "duplicates": 0, "quarantined": 0, "conflicts": 0,
                                               "done": 3, "retried": 0, "dead": 0, "leases_lost": 0})"));
}

TEST_CASE("--until-idle waits for a partition that cannot be read for the moment") {
  Stage stage{1};
  stage.produce(10);
  Daemon first{stage.config, {"run", "--migrate", "--until-idle"}};
  CHECK(first.process().wait() == ExitStatus{0, 0});
  stage.database.run("update inbox.shard set halted_reason = 'made up', halted_at = now()");
  stage.produce(10);
  Daemon second{stage.config, {"run", "--until-idle"}};
  CHECK(second.process().wait() == ExitStatus{0, 0});
  CHECK(stage.tally().is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.lag where halted_reason is not null") == 0);
}

TEST_CASE("--until-idle ends with 1 and names a topic that does not exist or may not be seen; the rest is done") {
  Stage stage{1};
  const std::string absent = random_name("absent");
  stage.config.topics.push_back("{name: " + absent + "}");
  stage.config.topics.push_back("{pattern: \"^" + random_name("nobody") + "\"}");  // may match nothing
  stage.produce(10);
  Daemon daemon{stage.config, {"run", "--migrate", "--until-idle"}};
  CHECK(daemon.process().wait() == ExitStatus{1, 0});
  CHECK(stage.tally().is_perfect());
  CHECK(daemon.count_in_log("does not exist, or may not be seen topic=" + absent) == 1);
}

TEST_CASE("--until-idle ends with 1 and names the partition where an operator has to decide; the rest is done") {
  Stage stage{2};
  int number = 0;
  const auto produce_to = [&](int partition, int count) {
    std::vector<Message> messages;
    for (int i = 0; i < count; ++i) {
      messages.push_back(
          event_message(stage.topic, "2b000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++)));
      messages.back().partition = partition;
    }
    stage.kafka.produce(messages);
  };
  produce_to(0, 5);
  produce_to(1, 5);
  Daemon first{stage.config, {"run", "--migrate", "--until-idle"}};
  CHECK(first.process().wait() == ExitStatus{0, 0});
  produce_to(0, 20);
  produce_to(1, 5);
  stage.kafka.delete_records(stage.topic, 0, 15);
  Daemon second{stage.config, {"run", "--until-idle"}};
  CHECK(second.process().wait() == ExitStatus{1, 0});
  CHECK(second.count_in_log("this partition is halted") == 1);
  CHECK(second.log().find("topic=" + stage.topic + " partition=0") != std::string::npos);
  CHECK(stage.database.number("select count(*) from inbox.event") == 15);
  CHECK(stage.database.number("select coalesce(sum(events), 0) from inbox.delivery") == 0);
}

TEST_CASE("--until-idle waits for the handlers that a reload brought, too") {
  Stage stage{1};
  const TempFolder folder;
  stage.set("gate", folder / "first");
  stage.produce(10);
  Daemon daemon{stage.config, {"run", "--migrate", "--until-idle"}};
  stage.wait_stored(10);
  auto added = stage.config.handlers[0];
  added.name = "added";
  added.settings["gate"] = folder / "second";
  stage.config.handlers.push_back(added);
  daemon.write_config(stage.config.text());
  daemon.process().signal(SIGHUP);
  daemon.wait_log("daemon: reloaded");
  write_file(folder / "first", "open");
  CHECK(stage.wait_done("recorder").done == 10);
  holds_for("it waits for the other", milliseconds{1'500}, [&] { return daemon.process().is_running(); });
  write_file(folder / "second", "open");
  CHECK(daemon.process().wait() == ExitStatus{0, 0});
  CHECK(stage.tally("added").is_perfect());
}
