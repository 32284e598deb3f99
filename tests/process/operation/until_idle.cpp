#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using nlohmann::json;

TEST_CASE("--until-idle exits with 0 once every event is settled, dead events too") {
  DaemonFixture fixture{3};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 2, base: 200ms, jitter: 0}"};
  fixture.produce(1000);
  fixture.kafka.produce({event_message(fixture.topic, "bad00000-0000-4000-8000-000000000000", "{}", "Bad")});
  DaemonProcess daemon{fixture.config, {"run", "--migrate", "--until-idle"}};
  CHECK(daemon.process().wait() == ExitStatus{0, 0});
  const auto counts = fixture.counts();
  WARN(counts.text());
  INFO(daemon.log());
  CHECK(counts.is_perfect());
  CHECK(counts.dead == 1);
  const auto again = command(fixture.config, {"run", "--until-idle", "--json"});  // nothing to do
  CHECK(again.status == ExitStatus{0, 0});
  CHECK(json::parse(again.out).at("stored") == 0);
  CHECK(fixture.counts().calls == counts.calls);
  fixture.produce(3);
  const auto last = command(fixture.config, {"run", "--until-idle", "--json"});
  INFO(last.out << last.err);
  CHECK(json::parse(last.out) == json::parse(R"({"stored": 3, "duplicates": 0, "quarantined": 0, "conflicts": 0,
                                               "done": 3, "retried": 0, "dead": 0, "expired": 0,
                                               "leases_lost": 0})"));
}

TEST_CASE("--until-idle waits for a partition that is temporarily unreadable") {
  DaemonFixture fixture{1};
  fixture.produce(10);
  DaemonProcess first{fixture.config, {"run", "--migrate", "--until-idle"}};
  CHECK(first.process().wait() == ExitStatus{0, 0});
  fixture.database.run("update inbox.shard set halted_reason = 'made up', halted_at = now()");
  fixture.produce(10);
  DaemonProcess second{fixture.config, {"run", "--until-idle"}};
  CHECK(second.process().wait() == ExitStatus{0, 0});
  CHECK(fixture.counts().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.lag where halted_reason is not null") == 0);
}

TEST_CASE("--until-idle exits with 75 and names the partition if an open transaction holds records back") {
  DaemonFixture fixture{1};
  fixture.produce(10);
  Transaction open{fixture.kafka.brokers(), {event_message(fixture.topic, "0d000000-0000-4000-8000-000000000001")}};
  {
    DaemonProcess daemon{fixture.config, {"run", "--migrate", "--until-idle"}};
    CHECK(daemon.process().wait() == ExitStatus{75, 0});
    CHECK(daemon.count_in_log("kind=daemon.transaction_open") == 1);
    CHECK(fixture.counts().is_perfect());
  }
  open.commit();
  fixture.note({"0d000000-0000-4000-8000-000000000001"});
  wait_until("the brokers have ended the transaction", [&] {
    DaemonProcess daemon{fixture.config, {"run", "--until-idle"}};
    const ExitStatus status = daemon.process().wait();
    REQUIRE((status == ExitStatus{0, 0} || status == ExitStatus{75, 0}));
    return status == ExitStatus{0, 0};
  });
  CHECK(fixture.counts().is_perfect());
}

TEST_CASE("--until-idle exits with 1 and names a topic that is missing or invisible; the rest is done") {
  DaemonFixture fixture{1};
  const std::string absent = random_name("absent");
  fixture.config.topics.push_back("{name: " + absent + "}");
  fixture.config.topics.push_back("{pattern: \"^" + random_name("nobody") + "\"}");  // no match is allowed
  fixture.produce(10);
  DaemonProcess daemon{fixture.config, {"run", "--migrate", "--until-idle"}};
  CHECK(daemon.process().wait() == ExitStatus{1, 0});
  CHECK(fixture.counts().is_perfect());
  CHECK(daemon.count_in_log("kind=daemon.topic_missing") == 1);
  CHECK(std::regex_search(daemon.log(), std::regex{" topic=" + absent + " [^\n]*kind=daemon.topic_missing\n"}));
}

TEST_CASE("--until-idle exits with 1 and names a partition that needs an operator; the rest is done") {
  DaemonFixture fixture{2};
  int number = 0;
  const auto produce_to = [&](int partition, int count) {
    std::vector<Message> messages;
    for (int i = 0; i < count; ++i) {
      messages.push_back(
          event_message(fixture.topic, "2b000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++)));
      messages.back().partition = partition;
    }
    fixture.kafka.produce(messages);
  };
  produce_to(0, 5);
  produce_to(1, 5);
  DaemonProcess first{fixture.config, {"run", "--migrate", "--until-idle"}};
  CHECK(first.process().wait() == ExitStatus{0, 0});
  produce_to(0, 20);
  produce_to(1, 5);
  fixture.kafka.delete_records(fixture.topic, 0, 15);
  DaemonProcess second{fixture.config, {"run", "--until-idle"}};
  CHECK(second.process().wait() == ExitStatus{1, 0});
  CHECK(second.count_in_log("kind=daemon.partition_halted") == 1);
  CHECK(second.log().find("topic=" + fixture.topic + " partition=0") != std::string::npos);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 15);
  CHECK(fixture.database.number("select coalesce(sum(events), 0) from inbox.delivery") == 0);
}

TEST_CASE("--until-idle also waits for the handlers that a reload added") {
  DaemonFixture fixture{1};
  const TempFolder folder;
  fixture.set("gate", folder / "first");
  fixture.produce(10);
  DaemonProcess daemon{fixture.config, {"run", "--migrate", "--until-idle"}};
  fixture.wait_stored(10);
  auto added = fixture.config.handlers[0];
  added.name = "added";
  added.settings["gate"] = folder / "second";
  fixture.config.handlers.push_back(added);
  daemon.write_config(fixture.config.text());
  daemon.process().signal(SIGHUP);
  daemon.wait_log("kind=daemon.reloaded");
  write_file(folder / "first", "open");
  CHECK(fixture.wait_done("recorder").done == 10);
  holds_for("it waits for the other", milliseconds{1'500}, [&] { return daemon.process().is_running(); });
  write_file(folder / "second", "open");
  CHECK(daemon.process().wait() == ExitStatus{0, 0});
  CHECK(fixture.counts("added").is_perfect());
}
