// Topics deleted and created again, and a daemon started against another cluster.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <string>

#include "process/support/daemon_fixture.hpp"
#include "support/mock_brokers.hpp"

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
