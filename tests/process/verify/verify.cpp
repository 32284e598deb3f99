// `inboxd verify` as an operator runs it: against the log of a real broker, beside a running daemon.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "process/support/background_producer.hpp"
#include "process/verify/verified.hpp"
#include "support/test_environment.hpp"
#include "support/topic_reader.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("every record is accounted for: events, duplicates, quarantine, tombstones, transactions") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + ", tombstones: skip}"};
  const auto daemon = fixture.start();
  const auto ids = fixture.produce(20);
  std::vector<Message> more;
  for (const auto& id : ids) more.push_back(event_message(fixture.topic, id, "{\"n\": 0}"));
  more.push_back({.topic = fixture.topic, .payload = "no id"});
  more.push_back({.topic = fixture.topic, .key = "k", .payload = std::nullopt});
  fixture.kafka.produce(more);
  fixture.kafka.produce_transaction({event_message(fixture.topic, "0193d2a0-0000-7000-8000-000000000001")}, true);
  fixture.kafka.produce_transaction({event_message(fixture.topic, "0193d2a0-0000-7000-8000-000000000002")}, false);
  fixture.kafka.produce({event_message(fixture.topic, "0193d2a0-0000-7000-8000-000000000003")});
  fixture.wait_stored(22);
  wait_read(fixture);
  const auto found = verify(fixture);
  INFO(found.text);
  REQUIRE(found.status == 0);
  CHECK(found.at("events") == 22);
  CHECK(found.at("duplicates") == 1);    // the others have another payload
  CHECK(found.at("quarantined") == 20);  // conflicts, and the record without an id
  CHECK(found.at("skipped") == 1);
  CHECK(found.at("absent") == 3);  // two markers and the aborted record
  CHECK(found.at("records") == 44);
  CHECK(found.at("lag") == 0);
}

TEST_CASE("compacted records are absent from the log, and not lost") {
  DaemonFixture fixture{1};
  fixture.topic = fixture.kafka.create_topic(
      1, "", {{"cleanup.policy", "compact"}, {"segment.ms", "100"}, {"min.cleanable.dirty.ratio", "0.001"}});
  fixture.config.topics = {"{name: " + fixture.topic + ", on_missing_id: position}"};
  const auto daemon = fixture.start();
  const auto produce = [&](const std::string& key, int count) {
    for (int i = 0; i < count; ++i) fixture.kafka.produce({{.topic = fixture.topic, .key = key, .payload = "{}"}});
  };
  for (int stored = 1; stored <= 10; ++stored) {  // the broker may compact all but the newest
    produce("same", 1);
    fixture.wait_stored(stored);
  }
  std::size_t left = 0;
  int produced = 10;
  wait_until(
      "the broker has compacted some",
      [&] {
        produce("other", 1);  // begins a segment, and so ends the segment before
        ++produced;
        left = read_topic(fixture.kafka.brokers(), fixture.topic, fixture.kafka.ends(fixture.topic)).size();
        return left < static_cast<std::size_t>(produced);
      },
      milliseconds{60'000});
  fixture.database.wait_for("all is read", "select position from inbox.lag", produced);
  const auto found = verify(fixture);
  INFO(found.text);
  CHECK(found.status == 0);
  CHECK(found.at("absent") > 0);
  CHECK(found.at("events") + found.at("absent") == produced);
}

TEST_CASE("a lost record is found, named with its remedy, and read again by --fetch; content is never shown") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.kafka.produce(
      {event_message(fixture.topic, "0193d2a0-0000-7000-8000-000000000001", "{\"secret\": \"s3cret\"}")});
  fixture.produce(9);
  fixture.database.wait_for("all are done", "select sum(inbox.count_of(offsets)) from inbox.outcome", 10);
  CHECK(verify(fixture).status == 0);
  fixture.database.run("update inbox.event set payload = '{\"other\": \"s3cret\"}' where \"offset\" = 0");
  lose(fixture, 4);
  const auto found = verify(fixture);
  INFO(found.text);
  CHECK(found.status == 1);
  CHECK_THAT(found.text, ContainsSubstring("\"rule\": \"missing_record\"") &&
                             ContainsSubstring("inboxd partitions seek " + fixture.topic + " 0 --to 4") &&
                             ContainsSubstring("\"rule\": \"different_content\"") && !ContainsSubstring("s3cret"));
  CHECK(found.document.at("found") == 2);

  const auto asked = command(fixture.config, {"verify", "--fetch"});  // no terminal, no --yes
  CAPTURE(asked.err);
  CHECK(asked.status == ExitStatus{64, 0});
  const auto fetched = verify(fixture, {"--fetch", "--yes"});
  CHECK(fetched.status == 1);
  fixture.database.wait_for("it is stored again", "select count(*) from inbox.event where \"offset\" = 4", 1,
                            milliseconds{60'000});
  fixture.database.wait_for("it is done", "select sum(inbox.count_of(offsets)) from inbox.outcome", 10);
  lose(fixture, 0);
  wait_read(fixture);
  const auto mended = verify(fixture, {"--against", "kafka"});
  INFO(mended.text);
  CHECK(mended.document.at("found") == 1);  // the first record, which the test has deleted
}

TEST_CASE("a resend is a duplicate after its id was trimmed, and --fetch never stores it again") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  const auto ids = fixture.produce(3);
  CHECK(fixture.wait_done().is_perfect());
  fixture.kafka.produce({event_message(fixture.topic, ids[0], "{\"n\": 0}")});
  fixture.database.wait_for("the resend is absorbed", "select position from inbox.lag", 4);
  fixture.database.run("delete from inbox.ledger where \"offset\" = 0");
  const auto trimmed = verify(fixture, {"--against", "kafka"});
  INFO(trimmed.text);
  CHECK(trimmed.status == 0);
  CHECK(trimmed.at("duplicates") == 1);

  lose(fixture, 1);
  const auto refused = verify(fixture, {"--fetch", "--yes"});
  INFO(refused.text);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.text, ContainsSubstring("the ledger no longer has the id of the record at offset 3: read again "
                                             "from offset 1, it would be stored again"));
  CHECK(fixture.database.number("select max(epoch) from inbox.position") == 0);
  CHECK(verify(fixture, {"--fetch", "--yes", "--sample", "1%"}).status == 64);

  fixture.database.run("update inbox.ledger_trim set forgotten_before = current_date + 1");
  const auto old = verify(fixture, {"--against", "kafka"});
  INFO(old.text);
  CHECK(old.status == 0);
  CHECK(old.at("not_checkable") == 2);
}

TEST_CASE("partitions that nobody has read, and topics that the brokers do not know, are no success") {
  DaemonFixture fixture{1};
  {
    const auto daemon = fixture.start();
    fixture.produce(10);
    CHECK(fixture.wait_done().is_perfect());
    wait_read(fixture);
    CHECK(daemon->stop() == ExitStatus{0, 0});
  }
  const std::string second = fixture.kafka.create_topic(2);
  fixture.config.topics.push_back("{name: " + second + "}");
  const auto empty = verify(fixture, {"--against", "kafka"});
  INFO(empty.text);
  CHECK(empty.status == 0);
  fixture.kafka.produce({event_message(second, "0193d2a0-0000-7000-8000-000000000001")});
  const auto unread = verify(fixture, {"--against", "kafka"});
  INFO(unread.text);
  CHECK(unread.status == 1);
  CHECK_THAT(unread.text, ContainsSubstring("\"problem\": \"never read, but it has records at offsets 0 to 0; start a "
                                            "daemon, or see `inboxd partitions list`\""));

  fixture.config.topics = {"{name: " + fixture.topic + "-gone}"};
  const auto unknown = verify(fixture, {"--against", "kafka"});
  INFO(unknown.text);
  CHECK(unknown.status == 1);
  CHECK_THAT(unknown.text, ContainsSubstring("-gone: configured, but the brokers do not describe it") &&
                               ContainsSubstring("no log was read"));
}

TEST_CASE("a loss is found by the age of its record, and never claimed of records that retention may have deleted") {
  DaemonFixture fixture{1};
  fixture.config.sections["retention"] = "quarantine: 1h";
  const auto daemon = fixture.start();
  fixture.produce(4);
  const auto hour = std::chrono::milliseconds{std::chrono::hours{1}}.count();
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const auto now = std::chrono::duration_cast<milliseconds>(since_1970).count();
  auto old = event_message(fixture.topic, "0193d2a0-0000-7000-8000-000000000001");
  old.timestamp_ms = now - 72 * hour;
  fixture.kafka.produce({old,
                         {.topic = fixture.topic, .payload = "no id"},
                         {.topic = fixture.topic, .payload = "no id", .timestamp_ms = now - 2 * hour}});
  fixture.database.wait_for("all is read", "select position from inbox.lag", 7);
  fixture.database.wait_for("all are done", "select sum(inbox.count_of(offsets)) from inbox.outcome", 5);
  fixture.database.run("delete from inbox.quarantine");
  // The inbox started long ago, and all days before yesterday were dropped. No event is left after the lost ones.
  fixture.database.run("update inbox.topic_start set started_at = now() - interval '40 days'");
  lose(fixture, 3);
  lose(fixture, 4);
  fixture.database.run("delete from inbox.event");
  const auto found = verify(fixture, {"--against", "kafka"});
  INFO(found.text);
  CHECK(found.status == 1);
  CHECK_THAT(found.text, ContainsSubstring("\"rule\": \"missing_record\"") &&
                             ContainsSubstring("\"rule\": \"not_in_quarantine\""));
  CHECK(found.document.at("found") == 5);  // offsets 0 to 3, and 5
  CHECK(found.at("not_checkable") == 2);   // these are too old
  fixture.database.run("update inbox.shard set trimmed_before = now()");  // by a shorter retention than today's
  const auto trimmed = verify(fixture, {"--against", "kafka"});
  INFO(trimmed.text);
  CHECK(trimmed.document.at("found") == 1);  // offset 5, which was quarantined
  CHECK(trimmed.at("not_checkable") == 6);
}

TEST_CASE("contradictions are shown also if a later statement fails; the verdict says how much was checked") {
  DaemonFixture fixture{1};
  {
    const auto daemon = fixture.start();
    fixture.produce(10);
    CHECK(fixture.wait_done().is_perfect());
    wait_read(fixture);
    CHECK(daemon->stop() == ExitStatus{0, 0});
  }
  CHECK_THAT(command(fixture.config, {"verify"}).out,
             ContainsSubstring("0 contradictions; 0 records could not be checked\n"));
  const auto sampled = command(fixture.config, {"verify", "--sample", "50%"});
  CHECK_THAT(sampled.out, ContainsSubstring("; a sample of 50% of the offsets\n"));
  fixture.database.run("update inbox.ledger_trim set forgotten_before = current_date + 1");
  lose(fixture, 4);
  const auto old = command(fixture.config, {"verify", "--against", "kafka"});
  CHECK(old.status.code == 0);
  CHECK_THAT(old.out, ContainsSubstring("0 contradictions; 1 record could not be checked\n"));

  fixture.database.run("insert into inbox.quarantine (shard_id, \"offset\", reason, detail, payload_size, digest) "
                       "values (99, 1, 'no_id', '', 0, 0); alter table inbox.former_subscription rename to former");
  const auto failed = command(fixture.config, {"verify", "--against", "database"});
  INFO(failed.out << failed.err);
  CHECK(failed.status.code == 1);
  CHECK_THAT(failed.out, ContainsSubstring("orphans: ") && ContainsSubstring("1 contradiction"));
  CHECK_THAT(failed.err, ContainsSubstring("former_subscription"));
  const auto as_json = verify(fixture, {"--against", "database"});
  CHECK(as_json.document.at("ok") == false);
  CHECK(as_json.document.at("found") == 1);
  fixture.database.run("delete from inbox.quarantine; alter table inbox.former rename to former_subscription");
}

TEST_CASE("a run continues where the last one ended, and begins again at a contradiction") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  wait_read(fixture);
  const TempFolder folder;
  const std::string file = (folder / "verified").string();
  const std::vector<std::string> nightly{"--against", "kafka", "--state", file};
  CHECK(verify(fixture, nightly).at("records") == 100);
  auto sampled = nightly;
  sampled.insert(sampled.end(), {"--sample", "50%"});
  CHECK(verify(fixture, sampled).at("records") == 100);  // another share begins again, and so does the whole after it
  CHECK(verify(fixture, nightly).at("records") == 100);
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  wait_read(fixture);
  lose(fixture, 105);
  for (int i = 0; i < 2; ++i) {
    const auto found = verify(fixture, nightly);
    INFO(found.text);
    CHECK(found.status == 1);
    CHECK(found.at("records") == 10);
  }
  fixture.database.run("insert into inbox.position select shard_id, epoch + 1, -1, next_offset, 0 from inbox.position "
                       "order by first_offset desc limit 1");
  const auto moved = verify(fixture, nightly);
  INFO(moved.text);
  CHECK(moved.at("records") == 110);
  CHECK_THAT(moved.text, ContainsSubstring("--state: 1 partitions were verified from their beginning"));
  CHECK(verify(fixture, {"--state", folder.path().string()}).status == 64);
  CHECK(verify(fixture, {"--sample", "1"}).status == 64);
  CHECK(verify(fixture, {"--topic", fixture.topic + "*"}).status == 1);
  CHECK_THAT(verify(fixture, {"--topic", "odrers"}).text, ContainsSubstring("no partition of such a topic"));
}

TEST_CASE("beside a daemon at work nothing is taken for a contradiction; a rate is kept") {
  DaemonFixture fixture{2};
  const auto daemon = fixture.start();
  {
    BackgroundProducer producer{fixture, 200};
    for (int i = 0; i < 3; ++i) {
      producer.wait_for_more(100);
      const auto found = verify(fixture);
      INFO(found.text);
      CHECK(found.status == 0);
    }
    producer.finish();
  }
  CHECK(fixture.wait_done().is_perfect());
  const auto begin = std::chrono::steady_clock::now();
  CHECK(verify(fixture, {"--against", "kafka", "--rate", "200"}).status == 0);
  CHECK(std::chrono::steady_clock::now() - begin >= milliseconds{900});
}

TEST_CASE("records that Kafka has deleted, and brokers that do not answer, are told apart from losses") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  wait_read(fixture);
  fixture.kafka.delete_records(fixture.topic, 0, 6);
  const auto found = verify(fixture);
  INFO(found.text);
  CHECK(found.status == 0);
  CHECK(found.at("not_in_kafka") == 6);
  CHECK(found.at("events") == 4);
  fixture.config.brokers = "127.0.0.1:1";
  CHECK(verify(fixture, {"--against", "database"}).status == 0);
  const auto away = verify(fixture, {"--against", "kafka"});
  CHECK(away.status == 69);
  CHECK_THAT(away.text, ContainsSubstring("brokers 127.0.0.1:1: not reached"));
}
