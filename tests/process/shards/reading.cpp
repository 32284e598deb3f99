// Databases that share topics: who reads which partition.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>

#include "process/shards/shards_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string> two_databases() { return {needed("INBOXD_TEST_PG"), needed("INBOXD_TEST_PG")}; }

/// Of the database's partitions: positions that the group's offsets have not reached.
std::int64_t uncommitted(ShardsFixture& fixture, ShardsFixture::Shard& shard) {
  const auto committed = fixture.kafka.committed(fixture.group(), fixture.topic);
  std::int64_t out = 0;
  for (const auto& row : shard.database.rows("select partition, position from inbox.lag")) {
    const auto found = committed.find(std::stoi(*row[0]));
    const std::int64_t position = std::stoll(*row[1]);
    if (position > 0 && (found == committed.end() || found->second != position)) ++out;
  }
  return out;
}

}  // namespace

// fault: SIGKILL of the instance that reads for its database
// fault: partition count raised, several databases
TEST_CASE("two databases share a topic: each event is in one of them once, through a kill, added partitions, resends") {
  ShardsFixture fixture{4, two_databases()};
  auto& first = *fixture.shards[0];
  auto& second = *fixture.shards[1];
  auto reader = first.start();
  reader->wait_log("kind=consumer.ingest_right_taken");
  const auto standby = first.start();
  const auto other = second.start();
  KeyedLoad load{fixture};
  load.wait_for_more(500);
  wait_until("both databases store", [&] { return first.stored() > 0 && second.stored() > 0; });
  CHECK(standby->count_in_log("kind=consumer.ingest_right_taken") == 0);
  reader->kill();
  load.wait_for_more(500);
  standby->wait_log("kind=consumer.ingest_right_taken");
  fixture.kafka.add_partitions(fixture.topic, 8);
  load.notice_partitions();
  for (auto* shard : {&first, &second}) {
    wait_until("added partitions are read", [&] {
      return shard->database.number("select count(distinct partition) from inbox.events where partition >= 4") == 2;
    });
  }
  load.stop();
  fixture.wait_done(load.produced());
  CHECK(fixture.misplaced() == "");
  load.resend();
  wait_until("all resends are read", [&] { return fixture.read() == 2 * load.produced(); });
  CHECK(fixture.stored() == load.produced());
  CHECK(fixture.misplaced() == "");
}

TEST_CASE("an instance that stops gives up reading at once, and the group's offsets are those of the database") {
  ShardsFixture fixture{2, two_databases()};
  auto& shard = *fixture.shards[0];
  auto reader = shard.start();
  reader->wait_log("kind=consumer.ingest_right_taken");
  const auto next = shard.start();
  fixture.kafka.produce({event_message(fixture.topic, "00000000-0000-4000-8000-000000000001")});
  std::vector<Message> messages;
  for (int i = 2; i < 50; ++i) {
    const std::string digits = std::to_string(1000 + i);
    messages.push_back(event_message(fixture.topic, "00000000-0000-4000-8000-00000000" + digits));
    messages.back().partition = 0;
  }
  fixture.kafka.produce(messages);
  wait_until("all are stored", [&] { return shard.stored() >= 48; });
  CHECK(reader->stop() == ExitStatus{0, 0});
  CHECK(uncommitted(fixture, shard) == 0);
  CHECK(shard.database.number("select count(*) from inbox.ingest_right join inbox.instance on instance_id = owner "
                              "where process_id = $1",
                              {std::to_string(reader->process().id())}) == 0);
  next->wait_log("kind=consumer.ingest_right_taken");
  CHECK(fixture.kafka.members(fixture.group()).empty());
}

// fault: the instance that reads for its database does not reach the brokers
TEST_CASE("a reader that does not hear the brokers gives up the right to an instance that does") {
  ShardsFixture fixture{2, two_databases()};
  auto& shard = *fixture.shards[0];
  ConfigText deaf = shard.config;
  deaf.brokers = "127.0.0.1:1";
  DaemonProcess reader{deaf};
  reader.wait_log("kind=consumer.ingest_right_taken");
  const auto next = shard.start();
  const auto other = fixture.shards[1]->start();
  KeyedLoad load{fixture};
  next->wait_log("kind=consumer.ingest_right_taken");
  CHECK(reader.count_in_log("kind=consumer.ingest_right_lost") == 1);
  load.wait_for_more(500);
  load.stop();
  fixture.wait_done(load.produced());
  CHECK(fixture.misplaced() == "");
  CHECK(reader.count_in_log("kind=consumer.ingest_right_taken") == 1);
}

// fault: SIGSTOP of the instance that reads for its database
TEST_CASE("a suspended reader is replaced, and stores nothing twice when it wakes up") {
  ShardsFixture fixture{2, two_databases()};
  auto& shard = *fixture.shards[0];
  const auto zombie = shard.start();
  zombie->wait_log("kind=consumer.ingest_right_taken");
  const auto next = shard.start();
  const auto other = fixture.shards[1]->start();
  KeyedLoad load{fixture};
  wait_until("it stores", [&] { return shard.stored() > 0; });
  zombie->process().signal(SIGSTOP);
  next->wait_log("kind=consumer.ingest_right_taken");
  load.wait_for_more(500);
  zombie->process().signal(SIGCONT);
  zombie->wait_log("kind=consumer.ingest_right_lost");
  load.wait_for_more(500);
  load.stop();
  fixture.wait_done(load.produced());
  CHECK(fixture.misplaced() == "");
}

// fault: a database configured as another shard than its schema
TEST_CASE("a daemon that is configured as another shard than its schema is refused") {
  ShardsFixture fixture{2, two_databases()};
  auto& shard = *fixture.shards[0];
  const auto daemon = shard.start();
  const auto refusal_of = [&](int index, int of) {
    ShardsFixture::set_shard(shard, index, of);
    DaemonProcess wrong{shard.config};
    CHECK(wrong.process().wait(patience) == ExitStatus{78, 0});
    return wrong.log();
  };
  CHECK_THAT(refusal_of(1, 2), ContainsSubstring("was first used with shard: {index: 0, of: 2}, and the configuration "
                                                 "has {index: 1, of: 2}"));
  CHECK_THAT(refusal_of(0, 4), ContainsSubstring("see sql/shards.md to change the number of databases"));
  shard.config.sections.erase("shard");
  DaemonProcess unshared{shard.config};
  CHECK(unshared.process().wait(patience) == ExitStatus{78, 0});
  ShardsFixture::set_shard(shard, 0, 2);
  CHECK(daemon->process().is_running());
}

// fault: a member subscribes to the topics that several databases share
TEST_CASE("status says that a topic cannot be divided among the databases, and that a member subscribes") {
  ShardsFixture fixture{3, two_databases()};
  auto& shard = *fixture.shards[0];
  const auto daemon = shard.start();
  const auto wait_status = [&](const std::string& text) {
    wait_until("status says: " + text,
               [&] { return command(shard.config, {"status"}).out.find(text) != std::string::npos; });
  };
  wait_status("topic " + fixture.topic + " has 3 partitions, which shard.of (2) does not divide");
  fixture.kafka.add_partitions(fixture.topic, 4);
  auto& other = *fixture.shards[1];
  other.config.sections.erase("shard");
  const auto member = other.start();
  wait_status("group " + fixture.group() + " has a member that subscribes");
}
