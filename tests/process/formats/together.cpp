// A topic in Avro beside a restore of the database, and beside an instance with another configuration.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/formats/avro_fixture.hpp"
#include "support/private_postgres.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* each_once =
    "select count(distinct n) from app.orders where price = 5.00 and subject = 'c-' || n % 7";

}  // namespace

// fault: database restored to an earlier state, or failed over asynchronously
TEST_CASE("orders in Avro are decoded again after a restore, and those of quarantine can be retried again") {
  PrivatePostgres server;
  AvroFixture fixture{1, server.url()};
  const auto daemon = fixture.start();
  const auto retry = [&] {
    const auto retried = command(fixture.config, {"quarantine", "retry", "--topic", fixture.topic, "--yes"});
    INFO(retried.out << retried.err);
    CHECK_THAT(retried.out, ContainsSubstring("5 became events"));
  };
  fixture.produce_orders(100);
  fixture.produce_orders(5, 100, 300);
  fixture.wait_rows(100);
  fixture.database.wait_for("five are in quarantine", "select count(*) from inbox.quarantine", 5);
  server.snapshot();
  fixture.database.session().close();
  fixture.registry.add_schema(300, schema);
  retry();
  fixture.produce_orders(420, 105);
  fixture.wait_rows(525);
  server.restore();
  fixture.database.session().close();
  fixture.database.wait_for("five are in quarantine again", "select count(*) from inbox.quarantine", 5);
  fixture.wait_rows(520);
  retry();
  fixture.wait_rows(525);
  CHECK(fixture.app.number(each_once) == 525);
  CHECK(fixture.quarantined() == 0);
  CHECK(daemon->process().is_running());
}

TEST_CASE("of two instances one does not know the topic's format: nothing is lost, and a replay decodes the rest") {
  AvroFixture fixture{2};
  fixture.config.topics = {"{name: " + fixture.topic +
                           ", on_missing_id: position, value: {format: avro, registry: {url: " +
                           fixture.registry.url() + "}}}"};
  fixture.config.handlers = {fixture.app.statement(
      "orders", "insert into app.orders select event_id, body->>'customer', (body->>'n')::bigint, "
                "(body->>'price')::numeric from events")};
  ConfigText old = fixture.config;
  old.topics = {"{name: " + fixture.topic + ", on_missing_id: position}"};
  const auto newer = fixture.start();
  DaemonProcess older{old};
  older.wait_ready();
  int sent = 0;
  wait_until("the older instance has stored orders", [&] {
    fixture.produce_orders(20, sent);
    sent += 20;
    return fixture.database.number("select count(*) from inbox.event where decoded is null") > 0;
  });
  fixture.wait_stored(sent);
  CHECK(older.stop() == ExitStatus{0, 0});
  fixture.database.wait_for("each is done or dead",
                            "select count(*) from inbox.deliveries where state not in ('done', 'dead')", 0);
  CHECK(fixture.database.number("select count(*) from inbox.dead_letter where error_class <> 'sql.not_json'") == 0);
  const auto replayed = command(fixture.config, {"dead", "replay", "--handler", "orders", "--yes"});
  INFO(replayed.out << replayed.err);
  CHECK(replayed.status == ExitStatus{0, 0});
  fixture.wait_rows(sent);
  CHECK(fixture.app.number(each_once) == sent);
  CHECK(newer->process().is_running());
}
