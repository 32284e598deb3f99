// Batches that the database did not take at the first try.
#include <catch2/catch_test_macros.hpp>
#include <future>

#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a deadlock ends a batch's transaction: the whole batch runs again, nothing is lost or doubled") {
  Stage stage{1};
  stage.config.sections["ingest"] = "connections: 1";
  const auto daemon = stage.start();
  stage.produce(5);
  CHECK(stage.wait_done().is_perfect());

  int tries = 0;
  while (daemon->count_in_log("sqlstate=40P01") == 0 && tries < 5) {
    ++tries;
    // Somebody else holds an id of the batch, and then wants the row of the position that the batch has written.
    Session other{stage.database.url(), stage.database.schema()};
    const std::string id = "5e000000-0000-4000-8000-00000000000" + std::to_string(tries);
    const auto position = std::to_string(stage.position());
    other.run("begin");
    other.run("insert into inbox.ledger (event_id, shard_id, \"offset\", digest, received_at) values ('" + id +
              "', 1, 1000000, 0, now())");
    stage.kafka.produce({event_message(stage.topic, id)});
    stage.note({id});
    stage.database.wait_for("the batch waits for the id",
                            "select count(*) from pg_stat_activity where application_name like 'inboxd ingest%' "
                            "and wait_event_type = 'Lock' and query like '%" +
                                stage.database.schema() + "%'",
                            1);
    try {
      other.run(
          "insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
          "select shard_id, 0, " +
          position + ", " + position + " + 1, 0 from inbox.shard");
    } catch (const std::exception&) {
      // It was this one that the server ended.
    }
    other.run("rollback");
  }
  CHECK(tries < 5);
  const auto tally = stage.wait_done();
  WARN("deadlock at try " << tries << ": " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.offsets_ahead() == 0);
}

TEST_CASE("a batch that is tried again and again is dropped when its partitions go to somebody else, who stores it") {
  Stage stage{4};
  Proxy proxy{port_of(stage.config.url)};
  const std::string direct = stage.config.url;
  stage.config.kafka["session.timeout.ms"] = "6000";
  stage.config.url = url_with_port(direct, proxy.port());
  const auto cut_off = stage.start();
  stage.produce(100);
  CHECK(stage.wait_done().is_perfect());
  proxy.refuse(true);
  proxy.cut();
  stage.produce(400);
  cut_off->wait_log("the batch is tried again");

  stage.config.url = direct;
  const auto other = stage.start();
  wait_until("both are members", [&] { return stage.kafka.members(stage.config.group).size() == 2; });
  cut_off->wait_log("consumer: partitions revoked");
  wait_until("the partitions that went over are stored",
             [&] { return stage.database.number("select count(*) from inbox.event") > 100; });
  CHECK(stage.offsets_ahead() == 0);
  proxy.refuse(false);
  const auto tally = stage.wait_done();
  WARN(tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.offsets_ahead() == 0);
}
