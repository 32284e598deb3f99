// What `inboxd verify` says of logs that lost records, were cut or have records of other rules.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "process/verify/verified.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::string> against_kafka{"--against", "kafka"};

std::string id_of(int number) { return "0193d2a0-0000-7000-8000-" + std::to_string(100'000'000'000 + number); }

Message numbered(const std::string& topic, int number) {
  return event_message(topic, id_of(number), "{\"no\": \"n" + std::to_string(number) + "\"}");
}

/// A daemon with these topics, until all is read.
void read_all(DaemonFixture& fixture, std::int64_t position) {
  const auto daemon = fixture.start();
  fixture.database.wait_for("all is read", "select max(position) from inbox.lag", position);
  fixture.database.wait_for("all is done", "select count(*) from inbox.delivery", 0);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

}  // namespace

TEST_CASE("after a change of the id rule no resend counts as missing, and --fetch runs no handled event again") {
  DaemonFixture fixture{1};
  const auto produce = [&](int first, int count) {
    for (int i = first; i < first + count; ++i) fixture.kafka.produce({numbered(fixture.topic, i)});
  };
  const auto by_header = fixture.config.topics;
  const std::vector<std::string> by_number{"{name: " + fixture.topic +
                                           ", envelope: custom, custom: {id: \"json:/no\"}}"};
  produce(0, 10);
  read_all(fixture, 10);
  fixture.config.topics = by_number;
  produce(10, 10);
  produce(10, 1);
  read_all(fixture, 21);
  const auto same = verify(fixture, against_kafka);
  INFO(same.text);
  CHECK(same.status == 0);
  CHECK(same.at("other_id") == 10);
  CHECK(same.at("duplicates") == 1);

  fixture.config.topics = by_header;
  const auto changed = verify(fixture, against_kafka);
  INFO(changed.text);
  CHECK(changed.status == 0);
  CHECK(changed.at("events") == 20);
  CHECK(changed.at("other_id") == 10);
  CHECK(changed.at("not_checkable") == 1);  // the resend
  CHECK_THAT(changed.text, ContainsSubstring("the rules of topic " + fixture.topic + " have changed: in partition 0 "
                                             "they give 10 records another id"));
  CHECK(verify(fixture, {"--fetch", "--yes"}).status == 0);
  lose(fixture, 4);
  const auto refused = verify(fixture, {"--fetch", "--yes"});
  INFO(refused.text);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.text, ContainsSubstring("is not read again: the rules of topic " + fixture.topic +
                                             " have changed: rule outbox_router does not give the record at offset "
                                             "19 the id of its event. Read again from offset 4"));
  read_all(fixture, 21);
  CHECK(fixture.database.number("select max(epoch) from inbox.position") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 19);
}

TEST_CASE("records that Kafka deleted before they were read are a problem, and so is a halted partition") {
  DaemonFixture fixture{1};
  fixture.produce(40);
  read_all(fixture, 40);
  fixture.produce(50);
  fixture.kafka.delete_records(fixture.topic, 0, 85);
  const auto lost = verify(fixture);
  INFO(lost.text);
  CHECK(lost.status == 1);
  CHECK_THAT(lost.text, ContainsSubstring("Kafka has deleted offsets 40 to 84, which were not read yet"));

  const auto daemon = fixture.start();
  fixture.database.wait_for("it is halted", "select count(*) from inbox.lag where halted_reason is not null", 1);
  const auto halted = verify(fixture);
  INFO(halted.text);
  CHECK(halted.status == 1);
  CHECK_THAT(halted.text, ContainsSubstring("\"problem\": \"halted: "));

  CHECK(command(fixture.config, {"partitions", "accept-gap", fixture.topic, "0", "--yes"}).status == ExitStatus{0, 0});
  fixture.database.wait_for("it continues", "select position from inbox.lag", 90);
  const auto accepted = verify(fixture, against_kafka);
  INFO(accepted.text);
  CHECK(accepted.status == 0);
  CHECK(accepted.at("not_in_kafka") == 85);
}

TEST_CASE("a position after the end of the log is a problem") {
  DaemonFixture fixture{1};
  fixture.produce(20);
  read_all(fixture, 20);
  fixture.database.run("update inbox.position set next_offset = 120 where next_offset = 20");
  const auto found = verify(fixture, against_kafka);
  INFO(found.text);
  CHECK(found.status == 1);
  CHECK_THAT(found.text, ContainsSubstring("the position is 120, but the log ends at offset 20: it was truncated"));
}

TEST_CASE("a partition that nobody has read is a problem after Kafka has deleted its records") {
  DaemonFixture fixture{1};
  fixture.produce(1);
  read_all(fixture, 1);
  const std::string second = fixture.kafka.create_topic(1);
  fixture.kafka.produce({numbered(second, 1)});
  fixture.kafka.delete_records(second, 0, 1);
  fixture.config.topics.push_back("{name: " + second + "}");
  const auto unread = verify(fixture, against_kafka);
  INFO(unread.text);
  CHECK(unread.status == 1);
  CHECK_THAT(unread.text, ContainsSubstring("never read, and Kafka has deleted its records up to offset 0"));
  fixture.config.topics.back() = "{name: " + second + ", start: end}";  // a daemon would not read them
  const auto at_end = verify(fixture, against_kafka);
  INFO(at_end.text);
  CHECK(at_end.status == 0);
}

TEST_CASE("after an accepted truncation the offsets before the cut are still compared") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + ", on_missing_id: position}"};
  for (int i = 0; i < 10; ++i) fixture.kafka.produce({{.topic = fixture.topic, .payload = "{}"}});
  read_all(fixture, 10);
  fixture.database.run("update inbox.shard set gap = '[6,10)', halted_reason = 'the log was truncated at 6', "
                       "halted_at = clock_timestamp()");
  CHECK(command(fixture.config, {"partitions", "accept-gap", fixture.topic, "0", "--yes"}).status == ExitStatus{0, 0});
  read_all(fixture, 10);
  const auto whole = verify(fixture, against_kafka);
  INFO(whole.text);
  CHECK(whole.status == 0);
  CHECK(whole.document.at("partitions").size() == 2);
  CHECK(whole.at("position", 0) == 6);
  CHECK(whole.at("events", 0) == 6);
  CHECK(whole.at("other_id", 0) == 0);
  CHECK(whole.at("events", 1) == 4);
  lose(fixture, 2);
  const auto found = verify(fixture, {"--fetch", "--yes"});
  INFO(found.text);
  CHECK(found.status == 1);
  CHECK_THAT(found.text, ContainsSubstring("\"rule\": \"missing_record\"") && ContainsSubstring("\"offset\": 2"));
  CHECK_THAT(found.text, !ContainsSubstring("partitions seek"));
}

TEST_CASE("rows at offsets without a record are not read: in a compacted topic they may be large") {
  DaemonFixture fixture{1};
  const std::string large = "(select string_agg(sha256(i::text::bytea), ''::bytea) from generate_series(1, SIZE) i)";
  const auto of_size = [&](const std::string& size) { return std::string{large}.replace(large.find("SIZE"), 4, size); };
  fixture.final_verify.skip("stores an event by hand");
  fixture.final_verify.skip("the test plants an event at an offset without a record");
  fixture.kafka.produce_transaction({numbered(fixture.topic, 1)}, true);  // its marker has offset 1
  read_all(fixture, 2);
  fixture.database.run("update inbox.event set payload = " + of_size("1000"));
  fixture.database.run("insert into inbox.event (shard_id, \"offset\", event_id, event_type, received_at, payload) "
                       "select shard_id, 1, gen_random_uuid(), event_type, received_at, " + of_size("100000") +
                       " from inbox.event");
  const auto read_blocks = [&] {
    return fixture.database.number("select coalesce(sum(toast_blks_hit + toast_blks_read), 0)::bigint from "
                                   "pg_statio_user_tables where schemaname = '" + fixture.database.schema() +
                                   "' and relname like 'event_2%'");
  };
  fixture.database.run("select pg_stat_force_next_flush()");
  const auto before = read_blocks();
  const auto found = verify(fixture, against_kafka);
  INFO(found.text);
  CHECK_THAT(found.text, ContainsSubstring("different_content"));  // the test has changed the record's row
  wait_until("its reads are counted", [&] { return read_blocks() > before; });
  CHECK(read_blocks() - before < 100);
}
