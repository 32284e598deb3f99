#include <catch2/catch_test_macros.hpp>
#include <future>

#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

// fault: deadlock
TEST_CASE("a batch whose transaction deadlocks runs again, and nothing is lost or doubled") {
  DaemonFixture fixture{1};
  fixture.config.sections["ingest"] = "connections: 1";
  const auto daemon = fixture.start();
  fixture.produce(5);
  CHECK(fixture.wait_done().is_perfect());

  int tries = 0;
  while (daemon->count_in_log("sqlstate=40P01") == 0 && tries < 9) {
    ++tries;
    // Another session holds an id of the batch and then wants the position row that the batch has written.
    Session other{fixture.database.url(), fixture.database.schema()};
    const std::string id = "5e000000-0000-4000-8000-00000000000" + std::to_string(tries);
    const auto position = std::to_string(fixture.position());
    other.run("begin");
    other.run("insert into inbox.ledger values ('" + id + "', 1, 1, 1000000, 0, now())");
    fixture.kafka.produce({event_message(fixture.topic, id)});
    fixture.note({id});
    fixture.database.wait_for("the batch waits for the id",
                              "select count(*) from pg_stat_activity where application_name like 'inboxd ingest%' "
                              "and wait_event_type = 'Lock' and query like '%" +
                                  fixture.database.schema() + "%'",
                              1);
    try {
      other.run(
          "insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
          "select shard_id, 0, " +
          position + ", " + position + " + 1, 0 from inbox.shard");
    } catch (const std::exception&) {
      // The server chose this session.
    }
    other.run("rollback");
  }
  CHECK(tries < 9);
  const auto counts = fixture.wait_done();
  WARN("deadlock at try " << tries << ": " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.offsets_ahead() == 0);
}

// fault: process stopped (SIGSTOP) for minutes
// fault: rebalance in the middle of a batch (eager, cooperative)
TEST_CASE("a batch that is being retried is dropped when another instance gets its partitions and stores it") {
  DaemonFixture fixture{4};
  Proxy proxy{port_of(fixture.config.url)};
  const std::string direct = fixture.config.url;
  fixture.config.kafka["session.timeout.ms"] = "6000";
  fixture.config.url = url_with_port(direct, proxy.port());
  const auto cut_off = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  proxy.refuse(true);
  proxy.cut();
  fixture.produce(400);
  cut_off->wait_log("kind=ingest.batch_failed");

  fixture.config.url = direct;
  const auto other = fixture.start();
  wait_until("both are members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  cut_off->wait_log("kind=consumer.partitions_revoked");
  wait_until("the partitions that went over are stored",
             [&] { return fixture.database.number("select count(*) from inbox.event") > 100; });
  CHECK(fixture.offsets_ahead() == 0);
  proxy.refuse(false);
  const auto counts = fixture.wait_done();
  WARN(counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.offsets_ahead() == 0);
}
