// What happens to topics: offsets that expire, partitions that are added, logs that lose their beginning.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <memory>
#include <string>

#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/http.hpp"
#include "support/mock_brokers.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const char* const halted_as_created_again = "select count(*) from inbox.lag where halted_reason like '%created again%'";

/// A daemon that has worked off 30 events, and was then started against another cluster, which has a topic of the same
/// name: it stands still there.
struct Abroad {
  Abroad() : own{stage.config.brokers}, daemon{stage.start()} {
    stage.produce(30);
    CHECK(stage.wait_done().is_perfect());
    daemon->stop();
    other.serve(stage.config);
    other.create_topic(stage.topic, 1);
    daemon = stage.start();
    stage.database.wait_for("it is halted", halted_as_created_again, 1);
  }
  /// Where 20 events more have come meanwhile.
  void come_home() {
    daemon->stop();
    stage.config.brokers = own;
    stage.produce(20);
    daemon = stage.start();
  }

  Stage stage{1};
  const std::string own;
  MockBrokers other;
  std::unique_ptr<Daemon> daemon;
};

}  // namespace

TEST_CASE("the group's offsets expire or are deleted: it goes on from its positions") {
  Stage stage{3};
  auto daemon = stage.start();
  stage.produce(300);
  CHECK(stage.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
  stage.kafka.delete_group(stage.config.group);
  CHECK(stage.kafka.committed(stage.config.group, stage.topic).empty());
  stage.produce(100);
  daemon = stage.start();
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 400);
  stage.database.wait_for("the old records were not read again", "select sum(position)::int from inbox.lag", 400);
  CHECK(stage.database.number(
            "select count(*) from inbox.position where first_offset >= 0 and next_offset <= first_offset") == 0);
}

TEST_CASE("where new partitions begin is found at once, though a fetch for the others waits for records") {
  Stage stage{1};
  stage.config.kafka["fetch.wait.max.ms"] = "10000";
  const auto daemon = stage.start();
  daemon->wait_log("consumer: reading");
  stage.kafka.add_partitions(stage.topic, 8);
  daemon->wait_log("consumer: reading", 9);  // all of them again, and the first once before
}

TEST_CASE("partitions that are added are read from their beginning, also with start: end") {
  Stage stage{1};
  stage.config.topics = {"{name: " + stage.topic + ", start: end}"};
  const auto daemon = stage.start();
  stage.database.wait_for("the first position is written", "select count(*) from inbox.lag", 1);
  stage.kafka.add_partitions(stage.topic, 3);
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (int i = 0; i < 90; ++i) {
    ids.push_back("0e000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i));
    messages.push_back(event_message(stage.topic, ids.back()));
    messages.back().partition = i % 3;
  }
  stage.kafka.produce(messages);  // before anybody has noticed the new partitions
  stage.note(ids);
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.lag") == 3);
}

TEST_CASE("start at a time: what came since is stored; at one that is yet to come, what comes from now on") {
  Stage stage{1};
  const std::string now =
      "select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') from pg_sleep(0.01)";
  stage.produce(5);
  const std::string between = stage.database.text(now);
  stage.database.text(now);
  stage.produce(7);
  const bool is_ahead = GENERATE(false, true);
  stage.config.topics = {"{name: " + stage.topic + ", start: \"" + (is_ahead ? "2999-01-01T00:00:00Z" : between) +
                         "\"}"};
  const auto daemon = stage.start();
  stage.database.wait_for("the first position is written", "select count(*) from inbox.lag", 1);
  stage.produce(3);
  stage.wait_stored(is_ahead ? 3 : 10);
  CHECK(stage.position() == 15);
  CHECK(stage.database.number("select min(\"offset\") from inbox.event") == (is_ahead ? 12 : 5));
}

TEST_CASE("start where the group is: an inbox that takes over from another consumer goes on behind it") {
  Stage stage{1};
  stage.produce(8);
  {
    const auto before = stage.start();
    stage.wait_stored(8);
    before->stop();
  }
  Database fresh;
  stage.config.url = fresh.url();
  stage.config.schema = fresh.schema();
  stage.config.topics = {"{name: " + stage.topic + ", start: committed}"};
  stage.produce(4);
  const auto daemon = stage.start();
  fresh.wait_for("what is new is stored", "select count(*) from inbox.event", 4);
  CHECK(fresh.number("select min(\"offset\") from inbox.event") == 8);
}

TEST_CASE("a pattern that matches Kafka's own topics, too, reads none of them") {
  Stage stage{1};
  stage.config.topics = {"{pattern: \"^(__|" + stage.topic + "$)\"}"};
  const std::string list = GENERATE("", "^nothing$");
  if (!list.empty()) stage.config.kafka["topic.blacklist"] = list;
  const auto daemon = stage.start();
  stage.produce(20);
  CHECK(stage.wait_done().is_perfect());
  wait_until("the brokers have noted it in theirs",
             [&] { return stage.kafka.committed(stage.config.group, stage.topic) == stage.kafka.ends(stage.topic); });
  CHECK(command(stage.config, {"check"}).out.find("matches 1 topics now") != std::string::npos);
  holds_for("nothing comes of that", milliseconds{2000}, [&] {
    return stage.database.number("select count(*) from inbox.lag") == 1 &&
           stage.database.number("select count(*) from inbox.quarantine") == 0;
  });
  CHECK(daemon->count_in_log("no configured topic matches") == 0);
}

TEST_CASE("check finds the topics of a pattern that the daemon would read, also one with GNU's words in it") {
  Stage stage{1};
  const auto prefix = stage.topic.substr(0, stage.topic.size() - 2);
  stage.config.topics = {"{pattern: '^" + prefix + "\\w+$'}"};
  CHECK(command(stage.config, {"check"}).out.find("matches 1 topics now") != std::string::npos);
}

TEST_CASE("a topic that appears later and matches the pattern begins at its beginning, also with start: end") {
  Stage stage{1};
  const std::string prefix = random_name("family");
  stage.kafka.create_topic(1, prefix + ".first");
  stage.config.topics = {"{pattern: \"^" + prefix + "\\\\.\", start: end}"};
  const auto daemon = stage.start();
  stage.database.wait_for("the first topic is known", "select count(*) from inbox.lag", 1);
  const auto later = stage.kafka.create_topic(1, prefix + ".later");
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back("0f000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i));
    messages.push_back(event_message(later, ids.back()));
  }
  stage.kafka.produce(messages);
  stage.note(ids);
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE(
    "topics that do not exist at the first start begin at their beginning when they appear, also with start: end") {
  Stage stage{1};
  const std::string prefix = random_name("family");
  const std::string named = random_name("named");
  stage.config.topics = {"{pattern: \"^" + prefix + "\\\\.\", start: end}", "{name: " + named + ", start: end}"};
  auto daemon = stage.start();
  stage.database.wait_for("the first start is noted", "select count(*) from inbox.topic_start", 2);
  daemon->stop();
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (const std::string& topic : {prefix + ".first", named}) {
    stage.kafka.create_topic(1, topic);
    for (int i = 0; i < 20; ++i) {
      ids.push_back("0d000000-0000-4000-8000-" + std::to_string(100'000'000'000 + static_cast<int>(ids.size())));
      messages.push_back(event_message(topic, ids.back()));
    }
  }
  stage.kafka.produce(messages);
  stage.note(ids);
  daemon = stage.start();
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE("a topic that is deleted and created again halts, and goes on from its beginning once that is accepted") {
  Stage stage{1};
  auto daemon = stage.start();
  stage.produce(50);
  CHECK(stage.wait_done().is_perfect());
  daemon->stop();
  stage.kafka.delete_topic(stage.topic);
  stage.kafka.create_topic(1, stage.topic);
  stage.produce(20);  // at offsets that the old topic had, too
  daemon = stage.start();
  stage.database.wait_for("it is halted", halted_as_created_again, 1);
  CHECK(daemon->count_in_log("consumer: halted") >= 1);
  CHECK(stage.database.number("select count(*) from inbox.event") == 50);
  CHECK_THAT(command(stage.config, {"status"}).out, ContainsSubstring("created again"));

  const auto accepted = command(stage.config, {"shards", "accept-incarnation", stage.topic, "--yes"});
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(stage.database.number("select count(distinct shard_id) from inbox.event") == 2);
}

TEST_CASE("a topic that is created again behind the daemon's back, shorter or longer: none of it under the old one") {
  const int length = GENERATE(20, 120);  // it was 50
  Stage stage{1};
  stage.config.kafka["session.timeout.ms"] = "10000";
  stage.config.kafka["heartbeat.interval.ms"] = "1000";
  const auto daemon = stage.start();
  stage.produce(50);
  CHECK(stage.wait_done().is_perfect());
  // It sees neither the end of the old one nor anything between.
  daemon->process().signal(SIGSTOP);
  stage.kafka.delete_topic(stage.topic);
  stage.kafka.create_topic(1, stage.topic);
  stage.produce(length);
  daemon->process().signal(SIGCONT);
  stage.database.wait_for("it is halted", halted_as_created_again, 1);
  CHECK(stage.database.number("select count(*) from inbox.event") == 50);

  const auto accepted = command(stage.config, {"shards", "accept-incarnation", stage.topic, "--yes"});
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  CHECK(stage.wait_done().is_perfect());
  wait_until("the group's offset follows the new one", [&] {
    return stage.kafka.committed(stage.config.group, stage.topic) == std::map<int, std::int64_t>{{0, length}};
  });
  CHECK(daemon->count_in_log("the database is behind the group's offset") == 0);
}

TEST_CASE("a daemon that was started once against another cluster goes on by itself at its own again") {
  Abroad abroad;
  Stage& stage = abroad.stage;
  abroad.come_home();
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 50);
  CHECK(stage.database.number(halted_as_created_again) == 0);
  CHECK(stage.database.number("select count(*) from inbox.shard") == 1);
  CHECK(abroad.daemon->count_in_log("the topic has its own id again; going on") == 1);
}

TEST_CASE("where the topic of another cluster was accepted, that of its own is read from its beginning once accepted") {
  Abroad abroad;
  Stage& stage = abroad.stage;
  const auto accept = [&] { return command(stage.config, {"shards", "accept-incarnation", stage.topic, "--yes"}); };
  CHECK(accept().status == ExitStatus{0, 0});
  abroad.come_home();
  stage.database.wait_for("it is halted again", halted_as_created_again, 1);
  const auto accepted = accept();
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 50);  // what was stored before is known to the ledger
  CHECK(stage.database.number("select count(*) from inbox.shard") == 3);
}

TEST_CASE(
    "records that Kafka has lost halt the partition with the gap, others go on; once accepted it goes on behind it") {
  Stage stage{2};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  auto daemon = stage.start();
  const auto produce_to = [&](int partition, int count, bool counted) {
    static int number = 0;
    std::vector<Message> messages;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back("1a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++));
      messages.push_back(event_message(stage.topic, ids.back()));
      messages.back().partition = partition;
    }
    stage.kafka.produce(messages);
    if (counted) stage.note(ids);
  };
  produce_to(0, 10, true);
  produce_to(1, 10, true);
  CHECK(stage.wait_done().is_perfect());
  daemon->stop();
  produce_to(0, 20, false);
  stage.kafka.delete_records(stage.topic, 0, 30);
  produce_to(0, 5, false);
  produce_to(1, 5, true);
  daemon = stage.start();
  stage.database.wait_for("it is halted",
                          "select count(*) from inbox.lag where partition = 0 and halted_reason is not null", 1);
  CHECK(stage.wait_done().is_perfect());  // the other partition goes on
  const auto halted = [&](const std::string& partition) {
    return gauge(port, "inboxd_partition_halted{topic=\"" + stage.topic + "\",partition=\"" + partition + "\"}");
  };
  wait_until("metrics say which", [&] { return halted("0") == 1; });
  CHECK(halted("1") == 0);
  CHECK(stage.position(0) == 10);
  CHECK(stage.database.text("select gap from inbox.shard where partition = 0") == "[10,30)");
  wait_until("its end is not committed",
             [&] { return stage.kafka.committed(stage.config.group, stage.topic)[1] == 15; });
  CHECK(stage.kafka.committed(stage.config.group, stage.topic)[0] == 10);

  const auto dry = command(stage.config, {"shards", "accept-gap", stage.topic, "0", "--dry-run"});
  CHECK(dry.status == ExitStatus{0, 0});
  CHECK(stage.position(0) == 10);
  const auto accepted = command(stage.config, {"shards", "accept-gap", stage.topic, "0", "--yes"});
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  // It may have joined the group again a moment ago, and does so no more often than every 30 s.
  stage.database.wait_for("it goes on behind the gap", "select position from inbox.lag where partition = 0", 35,
                          milliseconds{60'000});
  CHECK(stage.database.text("select gaps from inbox.shard where partition = 0") == "{[10,30)}");
  CHECK(stage.database.number("select count(*) from inbox.event") == 30);
  stage.database.wait_for("all is done", "select sum(inbox.count_of(offsets)) from inbox.outcome", 30);
}

TEST_CASE("the lag of a partition that stands still grows with what is produced to it, also after a restart") {
  Stage stage{1};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  auto daemon = stage.start();
  stage.produce(10);
  CHECK(stage.wait_done().is_perfect());
  daemon->stop();
  stage.produce(20);
  stage.kafka.delete_records(stage.topic, 0, 30);
  daemon = stage.start();
  stage.database.wait_for("it is halted", "select count(*) from inbox.lag where halted_reason is not null", 1);
  const auto wait_lag = [&](std::int64_t lag) {
    const milliseconds within{60'000};  // it is looked at every 15 s
    stage.database.wait_for("view lag tells", "select lag from inbox.lag", lag, within);
    const std::string name = "inboxd_partition_lag{topic=\"" + stage.topic + "\",partition=\"0\"}";
    wait_until(
        "the metric tells " + std::to_string(lag), [&] { return gauge(port, name) == double(lag); }, within);
  };
  wait_lag(20);
  stage.produce(100);
  wait_lag(120);
  daemon->stop();
  stage.produce(5);
  daemon = stage.start();
  wait_lag(125);
}

TEST_CASE("what a transaction aborted is never stored, and the lag still reaches 0") {
  Stage stage{1};
  const auto daemon = stage.start();
  stage.produce(10);
  const auto of = [&](const std::string& id) { return event_message(stage.topic, id); };
  stage.kafka.produce_transaction(
      {of("aaaa0000-0000-4000-8000-000000000001"), of("aaaa0000-0000-4000-8000-000000000002")}, false);
  stage.kafka.produce_transaction({of("cccc0000-0000-4000-8000-000000000001")}, true);
  stage.note({"cccc0000-0000-4000-8000-000000000001"});
  stage.kafka.produce_transaction({of("aaaa0000-0000-4000-8000-000000000003")}, false);

  CHECK(stage.wait_done().is_perfect());
  // Fourteen records and how three transactions ended, which the broker writes when the producer has long been told.
  const int end = 17;
  stage.database.wait_for("the position is at the end", "select position from inbox.lag", end);
  stage.database.wait_for("the lag is 0", "select lag from inbox.lag where high_watermark = " + std::to_string(end), 0);
  CHECK(stage.database.number("select count(*) from inbox.event where event_id::text like 'aaaa%'") == 0);
  CHECK(stage.database.number("select count(*) from inbox.event") == 11);
}

TEST_CASE("a transaction that a producer leaves open holds back what is behind it, and the lag shows it") {
  Stage stage{1};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const auto daemon = stage.start();
  stage.produce(10);
  CHECK(stage.wait_done().is_perfect());
  Transaction open{stage.kafka.brokers(), {event_message(stage.topic, "aaaa0000-0000-4000-8000-000000000001")}};
  const auto wait_lag = [&](std::int64_t lag) {
    stage.database.wait_for("the lag is " + std::to_string(lag), "select lag from inbox.lag", lag);
    const std::string name = "inboxd_partition_lag{topic=\"" + stage.topic + "\",partition=\"0\"}";
    wait_until("so metrics say", [&] { return gauge(port, name) == static_cast<double>(lag); });
  };
  stage.produce(5);
  wait_lag(6);
  stage.produce(1);  // the watermark is looked at again meanwhile
  wait_lag(7);
  CHECK(stage.position() == 10);
  CHECK(stage.database.number("select count(*) from inbox.event") == 10);

  open.abort();
  CHECK(stage.wait_done().is_perfect());
  wait_lag(0);
  CHECK(stage.database.number("select count(*) from inbox.event") == 16);
}

TEST_CASE("tombstones, empty values, null keys and odd headers are stored as they came") {
  Stage stage{1};
  const auto daemon = stage.start();
  const auto id = [](int n) { return "77770000-0000-4000-8000-00000000000" + std::to_string(n); };
  std::vector<Message> messages;
  for (int i = 0; i < 4; ++i) messages.push_back(event_message(stage.topic, id(i)));
  messages[0].payload = std::nullopt;
  messages[1].payload = "";
  messages[2].key = std::nullopt;
  messages[3].key = "";
  messages[3].headers.push_back({"twice", "one"});
  messages[3].headers.push_back({"twice", "two"});
  messages[3].headers.push_back({"null", std::nullopt});
  messages[3].headers.push_back({"raw", std::string{"\xff\0\x01", 3}});
  stage.kafka.produce(messages);
  for (int i = 0; i < 4; ++i) stage.note({id(i)});
  stage.wait_stored(4);
  const auto described = [&](int n) {
    return stage.database.text(
        "select (payload is null) || ' ' || coalesce(length(payload), -1) || ' ' || (key is null) "
        "|| ' ' || coalesce(length(key), -1) from inbox.event where event_id = $1",
        {id(n)});
  };
  CHECK(described(0) == "true -1 false 36");
  CHECK(described(1) == "false 0 false 36");
  CHECK(described(2) == "false 2 true -1");
  CHECK(described(3) == "false 2 false 0");
  CHECK(stage.database.text("select headers - 'id' - 'eventType' from inbox.events where event_id = $1", {id(3)}) ==
        R"({"raw": {"base64": "/wAB"}, "null": null, "twice": "two"})");
}

TEST_CASE("records without an id or too large are in quarantine, raw; the rest goes on") {
  Stage stage{1};
  stage.config.topics = {"{name: " + stage.topic + ", payload_limit: 1KiB}"};
  const auto daemon = stage.start();
  stage.produce(5);
  stage.kafka.produce({Message{.topic = stage.topic, .key = "k", .payload = "nobody knows me"}});
  stage.kafka.produce({event_message(stage.topic, "99990000-0000-4000-8000-000000000000", std::string(5000, 'x'))});
  stage.produce(5);
  CHECK(stage.wait_done().is_perfect());
  stage.database.wait_for("two are in quarantine", "select count(*) from inbox.quarantined", 2);
  CHECK(stage.database.text(
            "select string_agg(reason || ' ' || payload_size || ' ' || coalesce(encode(payload, 'escape'), "
            "'-'), ', ' order by \"offset\") from inbox.quarantined") == "no_id 15 nobody knows me, too_large 5000 -");
}

TEST_CASE("an instance with a fixed name restarts without a rebalance") {
  Stage stage{4};
  stage.config.kafka["session.timeout.ms"] = "6000";
  const auto other = stage.start();
  stage.config.instance_id = "one";
  auto fixed = stage.start();
  wait_until("both are members", [&] { return stage.kafka.members(stage.config.group).size() == 2; });
  stage.produce(200);
  CHECK(stage.wait_done().is_perfect());
  const int before = other->count_in_log("consumer: partitions revoked");
  CHECK(fixed->stop() == ExitStatus{0, 0});
  stage.produce(200);
  fixed = stage.start();
  CHECK(stage.wait_done().is_perfect());
  CHECK(other->count_in_log("consumer: partitions revoked") == before);
}

TEST_CASE("brokers that are not there yet are waited for") {
  Stage stage{2};
  Proxy proxy{port_of(stage.kafka.brokers())};
  proxy.refuse(true);
  stage.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  stage.produce(50);
  const auto daemon = stage.start();
  wait_until("it has tried", [&] { return proxy.accepted() >= 3; });
  CHECK(daemon->process().is_running());
  proxy.refuse(false);
  CHECK(stage.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
