#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <memory>
#include <string>

#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/mock_brokers.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const char* const halted_as_created_again = "select count(*) from inbox.lag where halted_reason like '%created again%'";

/// A daemon that has handled 30 events, then was started against another cluster with a topic of the same name: it is
/// halted there.
struct OtherClusterFixture {
  OtherClusterFixture() : own{fixture.config.brokers}, daemon{fixture.start()} {
    fixture.produce(30);
    CHECK(fixture.wait_done().is_perfect());
    daemon->stop();
    other.serve(fixture.config);
    other.create_topic(fixture.topic, 1);
    daemon = fixture.start();
    fixture.database.wait_for("it is halted", halted_as_created_again, 1);
  }
  /// Its own cluster has 20 more events.
  void return_to_own_cluster() {
    daemon->stop();
    fixture.config.brokers = own;
    fixture.produce(20);
    daemon = fixture.start();
  }

  DaemonFixture fixture{1};
  const std::string own;
  MockBrokers other;
  std::unique_ptr<DaemonProcess> daemon;
};

}  // namespace

// fault: group offsets expired or deleted
TEST_CASE("after the group's offsets expire or are deleted, the daemon continues from its positions") {
  DaemonFixture fixture{3};
  auto daemon = fixture.start();
  fixture.produce(300);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.kafka.delete_group(fixture.config.group);
  CHECK(fixture.kafka.committed(fixture.config.group, fixture.topic).empty());
  fixture.produce(100);
  daemon = fixture.start();
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 400);
  fixture.database.wait_for("the old records were not read again", "select sum(position)::int from inbox.lag", 400);
  CHECK(fixture.database.number(
            "select count(*) from inbox.position where first_offset >= 0 and next_offset <= first_offset") == 0);
}

// fault: partitions added
TEST_CASE("new partitions start at once, even while a fetch of the others waits for records") {
  DaemonFixture fixture{1};
  fixture.config.kafka["fetch.wait.max.ms"] = "10000";
  const auto daemon = fixture.start();
  daemon->wait_log("kind=consumer.reading");
  fixture.kafka.add_partitions(fixture.topic, 8);
  daemon->wait_log("kind=consumer.reading", 9);  // all of them again, and the first once before
}

// fault: partitions added
TEST_CASE("added partitions are read from their beginning, also with start: end") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + ", start: end}"};
  const auto daemon = fixture.start();
  fixture.database.wait_for("the first position is written", "select count(*) from inbox.lag", 1);
  fixture.kafka.add_partitions(fixture.topic, 3);
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (int i = 0; i < 90; ++i) {
    ids.push_back("0e000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i));
    messages.push_back(event_message(fixture.topic, ids.back()));
    messages.back().partition = i % 3;
  }
  fixture.kafka.produce(messages);  // before any client has noticed the new partitions
  fixture.note(ids);
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.lag") == 3);
}

TEST_CASE("start: TIME stores the records since then; a time in the future stores new records only") {
  DaemonFixture fixture{1};
  const std::string now =
      "select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') from pg_sleep(0.01)";
  fixture.produce(5);
  const std::string between = fixture.database.text(now);
  fixture.database.text(now);
  fixture.produce(7);
  const bool is_ahead = GENERATE(false, true);
  fixture.config.topics = {"{name: " + fixture.topic + ", start: \"" + (is_ahead ? "2999-01-01T00:00:00Z" : between) +
                           "\"}"};
  const auto daemon = fixture.start();
  fixture.database.wait_for("the first position is written", "select count(*) from inbox.lag", 1);
  fixture.produce(3);
  fixture.wait_stored(is_ahead ? 3 : 10);
  CHECK(fixture.position() == 15);
  CHECK(fixture.database.number("select min(\"offset\") from inbox.event") == (is_ahead ? 12 : 5));
}

TEST_CASE("start: committed continues after the group's offsets, as for an inbox that replaces another consumer") {
  DaemonFixture fixture{1};
  fixture.produce(8);
  {
    const auto before = fixture.start();
    fixture.wait_stored(8);
    before->stop();
  }
  Database fresh;
  fixture.config.url = fresh.url();
  fixture.config.schema = fresh.schema();
  fixture.config.topics = {"{name: " + fixture.topic + ", start: committed}"};
  fixture.produce(4);
  const auto daemon = fixture.start();
  fresh.wait_for("what is new is stored", "select count(*) from inbox.event", 4);
  CHECK(fresh.number("select min(\"offset\") from inbox.event") == 8);
}

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

// fault: topic deleted and created again
TEST_CASE("a recreated topic halts, and continues at its beginning once that is accepted") {
  DaemonFixture fixture{1};
  auto daemon = fixture.start();
  fixture.produce(50);
  CHECK(fixture.wait_done().is_perfect());
  daemon->stop();
  fixture.kafka.delete_topic(fixture.topic);
  fixture.kafka.create_topic(1, fixture.topic);
  fixture.produce(20);  // at offsets of the old topic
  daemon = fixture.start();
  fixture.database.wait_for("it is halted", halted_as_created_again, 1);
  CHECK(daemon->count_in_log("kind=consumer.halted") >= 1);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 50);
  CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring("created again"));

  const auto accepted = command(fixture.config, {"shards", "accept-incarnation", fixture.topic, "--yes"});
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(fixture.database.number("select count(distinct shard_id) from inbox.event") == 2);
}

// fault: topic deleted and created again
TEST_CASE("a topic recreated unnoticed, shorter or longer, stores nothing under the old incarnation") {
  const int length = GENERATE(20, 120);  // it had 50
  DaemonFixture fixture{1};
  fixture.config.kafka["session.timeout.ms"] = "10000";
  fixture.config.kafka["heartbeat.interval.ms"] = "1000";
  const auto daemon = fixture.start();
  fixture.produce(50);
  CHECK(fixture.wait_done().is_perfect());
  // The daemon sees neither the deletion nor the creation.
  daemon->process().signal(SIGSTOP);
  fixture.kafka.delete_topic(fixture.topic);
  fixture.kafka.create_topic(1, fixture.topic);
  fixture.produce(length);
  daemon->process().signal(SIGCONT);
  fixture.database.wait_for("it is halted", halted_as_created_again, 1);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 50);

  const auto accepted = command(fixture.config, {"partitions", "accept-recreated", fixture.topic, "--yes"});
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the group's offset follows the new topic", [&] {
    return fixture.kafka.committed(fixture.config.group, fixture.topic) == std::map<int, std::int64_t>{{0, length}};
  });
  CHECK(daemon->count_in_log("kind=consumer.position_behind_group") == 0);
}

TEST_CASE("a daemon started once against another cluster continues by itself at its own") {
  OtherClusterFixture cluster;
  DaemonFixture& fixture = cluster.fixture;
  cluster.return_to_own_cluster();
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 50);
  CHECK(fixture.database.number(halted_as_created_again) == 0);
  CHECK(fixture.database.number("select count(*) from inbox.shard") == 1);
  CHECK(cluster.daemon->count_in_log("kind=consumer.topic_id_restored") == 1);
}

TEST_CASE("after another cluster's topic was accepted, its own is read from the beginning once accepted") {
  OtherClusterFixture cluster;
  DaemonFixture& fixture = cluster.fixture;
  const auto accept = [&] {
    return command(fixture.config, {"partitions", "accept-recreated", fixture.topic, "--yes"});
  };
  CHECK(accept().status == ExitStatus{0, 0});
  cluster.return_to_own_cluster();
  fixture.database.wait_for("it is halted again", halted_as_created_again, 1);
  const auto accepted = accept();
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 50);  // the ledger absorbs the events stored before
  CHECK(fixture.database.number("select count(*) from inbox.shard") == 3);
}

// fault: committed offset below the log start
TEST_CASE("a partition with lost records halts, others continue; once accepted it continues after the gap") {
  DaemonFixture fixture{2};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  auto daemon = fixture.start();
  const auto produce_to = [&](int partition, int count, bool counted) {
    static int number = 0;
    std::vector<Message> messages;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back("1a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++));
      messages.push_back(event_message(fixture.topic, ids.back()));
      messages.back().partition = partition;
    }
    fixture.kafka.produce(messages);
    if (counted) fixture.note(ids);
  };
  produce_to(0, 10, true);
  produce_to(1, 10, true);
  CHECK(fixture.wait_done().is_perfect());
  daemon->stop();
  produce_to(0, 20, false);
  fixture.kafka.delete_records(fixture.topic, 0, 30);
  produce_to(0, 5, false);
  produce_to(1, 5, true);
  daemon = fixture.start();
  fixture.database.wait_for("it is halted",
                            "select count(*) from inbox.lag where partition = 0 and halted_reason is not null", 1);
  CHECK(fixture.wait_done().is_perfect());
  const auto halted = [&](const std::string& partition) {
    return gauge(port, "inboxd_partition_halted{topic=\"" + fixture.topic + "\",partition=\"" + partition + "\"}");
  };
  wait_until("metrics say which", [&] { return halted("0") == 1; });
  CHECK(halted("1") == 0);
  CHECK(fixture.position(0) == 10);
  CHECK(fixture.database.text("select gap from inbox.shard where partition = 0") == "[10,30)");
  wait_until("its end is not committed",
             [&] { return fixture.kafka.committed(fixture.config.group, fixture.topic)[1] == 15; });
  CHECK(fixture.kafka.committed(fixture.config.group, fixture.topic)[0] == 10);

  const auto dry = command(fixture.config, {"partitions", "accept-gap", fixture.topic, "0", "--dry-run"});
  CHECK(dry.status == ExitStatus{0, 0});
  CHECK(fixture.position(0) == 10);
  const auto accepted = command(fixture.config, {"partitions", "accept-gap", fixture.topic, "0", "--yes"});
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  // It may have rejoined a moment ago, and rejoins at most every 30 s.
  fixture.database.wait_for("it continues behind the gap", "select position from inbox.lag where partition = 0", 35,
                            milliseconds{60'000});
  CHECK(fixture.database.text("select gaps from inbox.shard where partition = 0") == "{[10,30)}");
  CHECK(fixture.database.number("select count(*) from inbox.event") == 30);
  fixture.database.wait_for("all is done", "select sum(inbox.count_of(offsets)) from inbox.outcome", 30);
}

TEST_CASE("the lag of a halted partition grows with new records, also after a restart") {
  DaemonFixture fixture{1};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  daemon->stop();
  fixture.produce(20);
  fixture.kafka.delete_records(fixture.topic, 0, 30);
  daemon = fixture.start();
  fixture.database.wait_for("it is halted", "select count(*) from inbox.lag where halted_reason is not null", 1);
  const auto wait_lag = [&](std::int64_t lag) {
    const milliseconds within{60'000};  // it is checked every 15 s
    fixture.database.wait_for("view lag tells", "select lag from inbox.lag", lag, within);
    const std::string name = "inboxd_partition_lag{topic=\"" + fixture.topic + "\",partition=\"0\"}";
    wait_until(
        "the metric tells " + std::to_string(lag), [&] { return gauge(port, name) == double(lag); }, within);
  };
  wait_lag(20);
  fixture.produce(100);
  wait_lag(120);
  daemon->stop();
  fixture.produce(5);
  daemon = fixture.start();
  wait_lag(125);
}

// fault: aborted Kafka transaction
TEST_CASE("records of an aborted transaction are never stored, and the lag still reaches 0") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.produce(10);
  const auto of = [&](const std::string& id) { return event_message(fixture.topic, id); };
  fixture.kafka.produce_transaction(
      {of("aaaa0000-0000-4000-8000-000000000001"), of("aaaa0000-0000-4000-8000-000000000002")}, false);
  fixture.kafka.produce_transaction({of("cccc0000-0000-4000-8000-000000000001")}, true);
  fixture.note({"cccc0000-0000-4000-8000-000000000001"});
  fixture.kafka.produce_transaction({of("aaaa0000-0000-4000-8000-000000000003")}, false);

  CHECK(fixture.wait_done().is_perfect());
  // Fourteen records and three transaction markers, which the broker writes after the producer's call returns.
  const int end = 17;
  fixture.database.wait_for("the position is at the end", "select position from inbox.lag", end);
  fixture.database.wait_for("the lag is 0", "select lag from inbox.lag where high_watermark = " + std::to_string(end),
                            0);
  CHECK(fixture.database.number("select count(*) from inbox.event where event_id::text like 'aaaa%'") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 11);
}

// fault: open Kafka transaction
TEST_CASE("an open transaction holds back the records after it, and the lag includes them") {
  DaemonFixture fixture{1};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  Transaction open{fixture.kafka.brokers(), {event_message(fixture.topic, "aaaa0000-0000-4000-8000-000000000001")}};
  const auto wait_lag = [&](std::int64_t lag) {
    fixture.database.wait_for("the lag is " + std::to_string(lag), "select lag from inbox.lag", lag);
    const std::string name = "inboxd_partition_lag{topic=\"" + fixture.topic + "\",partition=\"0\"}";
    wait_until("so metrics say", [&] { return gauge(port, name) == static_cast<double>(lag); });
  };
  fixture.produce(5);
  wait_lag(6);
  fixture.produce(1);  // the watermark is read again meanwhile
  wait_lag(7);
  CHECK(fixture.position() == 10);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 10);

  const auto shown = [&] { return command(fixture.config, {"status"}).out; };
  const std::string sentence = "an open transaction holds " + fixture.topic + "/0 back at offset 10 since ";
  fixture.database.wait_for("it is known where and since when it holds the partition back",
                            "select last_stable_offset from inbox.shard where held_since is not null", 10);
  CHECK(shown().find(sentence) == std::string::npos);  // a minute is normal
  fixture.database.run("update inbox.shard set held_since = held_since - interval '1 minute'");
  wait_until("status names it", [&] { return shown().find(sentence) != std::string::npos; });
  CHECK_THAT(shown(), ContainsSubstring("--topic " + fixture.topic + " --partition 0 --start-offset 10"));

  open.abort();
  CHECK(fixture.wait_done().is_perfect());
  wait_lag(0);
  fixture.database.wait_for("it is over", "select count(*) from inbox.shard where held_since is null", 1);
  CHECK(shown().find("an open transaction") == std::string::npos);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 16);
}

// fault: tombstone
// fault: empty value
// fault: null key
// fault: repeated or null headers
TEST_CASE("tombstones, empty values, null keys and odd headers are stored unchanged") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  const auto id = [](int n) { return "77770000-0000-4000-8000-00000000000" + std::to_string(n); };
  std::vector<Message> messages;
  for (int i = 0; i < 4; ++i) messages.push_back(event_message(fixture.topic, id(i)));
  messages[0].payload = std::nullopt;
  messages[1].payload = "";
  messages[2].key = std::nullopt;
  messages[3].key = "";
  messages[3].headers.push_back({"twice", "one"});
  messages[3].headers.push_back({"twice", "two"});
  messages[3].headers.push_back({"null", std::nullopt});
  messages[3].headers.push_back({"raw", std::string{"\xff\0\x01", 3}});
  fixture.kafka.produce(messages);
  for (int i = 0; i < 4; ++i) fixture.note({id(i)});
  fixture.wait_stored(4);
  const auto described = [&](int n) {
    return fixture.database.text(
        "select (payload is null) || ' ' || coalesce(length(payload), -1) || ' ' || (key is null) "
        "|| ' ' || coalesce(length(key), -1) from inbox.event where event_id = $1",
        {id(n)});
  };
  CHECK(described(0) == "true -1 false 36");
  CHECK(described(1) == "false 0 false 36");
  CHECK(described(2) == "false 2 true -1");
  CHECK(described(3) == "false 2 false 0");
  CHECK(fixture.database.text("select headers - 'id' - 'eventType' from inbox.events where event_id = $1", {id(3)}) ==
        R"({"raw": {"base64": "/wAB"}, "null": null, "twice": "two"})");
}

// fault: no id
// fault: id with NUL
// fault: id with bad UTF-8
// fault: id too long
// fault: payload over the limit
TEST_CASE("records without an id, with a bad id or too large go to quarantine, raw; the rest is stored") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + ", payload_limit: 1KiB}"};
  const auto daemon = fixture.start();
  fixture.produce(5);
  fixture.kafka.produce({Message{.topic = fixture.topic, .key = "k", .payload = "nobody knows me"}});
  fixture.kafka.produce({event_message(fixture.topic, "99990000-0000-4000-8000-000000000000", std::string(5000, 'x'))});
  for (const std::string& id : {std::string{"a\0b", 3}, std::string{"\xff"}, std::string(257, 'x')}) {
    fixture.kafka.produce({Message{.topic = fixture.topic, .key = "k", .payload = "p", .headers = {{"id", id}}}});
  }
  fixture.produce(5);
  CHECK(fixture.wait_done().is_perfect());
  fixture.database.wait_for("five are in quarantine", "select count(*) from inbox.quarantined", 5);
  CHECK(fixture.database.text(
            "select string_agg(reason || ' ' || payload_size || ' ' || coalesce(encode(payload, 'escape'), "
            "'-'), ', ' order by \"offset\") from inbox.quarantined") ==
        "no_id 15 nobody knows me, too_large 5000 -, bad_id 1 p, bad_id 1 p, bad_id 1 p");
}

TEST_CASE("an instance with a fixed instance_id restarts without a rebalance") {
  DaemonFixture fixture{4};
  fixture.config.kafka["session.timeout.ms"] = "6000";
  const auto other = fixture.start();
  fixture.config.instance_id = "one";
  auto fixed = fixture.start();
  wait_until("both are members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  fixture.produce(200);
  CHECK(fixture.wait_done().is_perfect());
  const int before = other->count_in_log("kind=consumer.partitions_revoked");
  CHECK(fixed->stop() == ExitStatus{0, 0});
  fixture.produce(200);
  fixed = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(other->count_in_log("kind=consumer.partitions_revoked") == before);
}

TEST_CASE("a start waits for the brokers") {
  DaemonFixture fixture{2};
  Proxy proxy{port_of(fixture.kafka.brokers())};
  proxy.refuse(true);
  fixture.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  fixture.produce(50);
  const auto daemon = fixture.start();
  wait_until("it has tried", [&] { return proxy.accepted() >= 3; });
  CHECK(daemon->process().is_running());
  proxy.refuse(false);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
