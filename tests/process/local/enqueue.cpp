#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/local/local_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("each form of enqueue makes events with the application's transaction, without Kafka") {
  LocalFixture fixture;
  const auto daemon = fixture.start();
  Database& database = fixture.database;
  database.run("begin; select inbox.enqueue('signup', 'undone', '{}'); rollback");
  const std::string text = database.text("select inbox.enqueue('signup', 'text', '{\"a\":  1}', key => 'k')");
  const std::string json = database.text(
      "select inbox.enqueue('signup', 'json', '{\"a\":  1}'::jsonb, '11111111-1111-4111-8111-111111111111', 'k', "
      "'{\"h\": \"v\"}', '2026-01-02T03:04:05Z')");
  CHECK(json == "11111111-1111-4111-8111-111111111111");
  database.run("select inbox.enqueue('signup', null, '\\x00ff'::bytea, key => '\\xff'::bytea)");
  database.run("select inbox.enqueue('signup', 'tombstone', null::jsonb)");
  database.run(
      "begin; select inbox.enqueue('signup', 'both', '1'); select inbox.enqueue('signup', 'both', '2'); commit");
  CHECK(database.rows("select inbox.enqueue_batch('signup', '{bytes,bytes}', '{\\x01,\\x02}'::bytea[])").size() == 2);
  CHECK(database.rows("select inbox.enqueue_batch('signup', '{jsons,jsons}', '{1,2}'::jsonb[], key => '{k,l}')")
            .size() == 2);
  fixture.wait_done(10);
  CHECK(database.text("select string_agg(concat_ws(' ', event_type, encode(key, 'hex'), encode(payload, 'escape'), "
                      "headers), ', ' order by \"offset\") from inbox.events where topic = 'signup' and partition = 0 "
                      "and event_type not in ('bytes', 'both')") ==
        "text 6b {\"a\":  1}, json 6b {\"a\": 1} {\"h\": \"v\"}, signup ff \\000\\377, tombstone, jsons 6b 1, "
        "jsons 6c 2");
  CHECK(database.text("select event_type from inbox.events where event_id = $1", {text}) == "text");
  CHECK(database.text("select occurred_at at time zone 'UTC' from inbox.events where event_type = 'json'") ==
        "2026-01-02 03:04:05");
  CHECK(database.number("select count(*) from inbox.event") == 10);
  CHECK(database.number("select count(*) from inbox.local_event") == 0);
  CHECK(fixture.recording.calls_by_event().size() == 10);
}

TEST_CASE("an id that was enqueued before makes no second event") {
  LocalFixture fixture;
  const auto daemon = fixture.start();
  const std::string id = fixture.enqueue();
  fixture.wait_done(1);
  fixture.enqueue("made", ", event_id => '" + id + "'");
  fixture.database.run("select inbox.enqueue('signup', 'other', '{\"specversion\":\"1.0\",\"id\":\"x\","
                       "\"source\":\"/y\",\"type\":\"z\"}', event_id => '" + id + "')");
  fixture.database.run("select inbox.enqueue_batch('signup', null, '{1,1}'::jsonb[], array[$1, $1]::uuid[])",
                       {"22222222-2222-4222-8222-222222222222"});
  fixture.wait_done(2);
  fixture.database.wait_for("all are taken", "select count(*) from inbox.local_event", 0);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 2);
  CHECK(fixture.database.number("select count(*) from inbox.ledger") == 2);
  CHECK(fixture.database.text("select reason from inbox.quarantined") == "conflict");  // the other payload
  CHECK(fixture.recording.count() == 2);
  // A retry of the conflict reads nothing into its bytes.
  const auto retried = command(fixture.config, {"quarantine", "retry", "--topic", "signup", "--yes"});
  CHECK_THAT(retried.out, ContainsSubstring("conflict"));
  CHECK(fixture.database.number("select count(*) from inbox.event") == 2);
  CHECK(fixture.database.text("select reason from inbox.quarantined") == "conflict");
}

TEST_CASE("enqueue refuses an undeclared topic, a large payload and arrays of different lengths, with the remedy") {
  LocalFixture fixture;
  fixture.config.topics.emplace_back("{name: small, source: local, payload_limit: 10B}");
  const auto daemon = fixture.start();
  const auto refused = [&](const std::string& call, const std::string& sentence) {
    CAPTURE(call);
    CHECK_THROWS_WITH(fixture.database.run("select inbox." + call), ContainsSubstring(sentence));
  };
  refused("enqueue('sign-up', 'made', '{}')", "no instance of inboxd has declared the local topic \"sign-up\"");
  refused("enqueue('sign-up', 'made', '{}')", "Add {name: sign-up, source: local} to topics");
  refused("enqueue_batch('sign-up', null, '{1}'::jsonb[])", "Add {name: sign-up, source: local} to topics");
  refused("enqueue('small', 'made', '12345678901')", "have 11 bytes, its payload_limit allows 10");
  refused("enqueue('small', 'made', '1', key => '12345678901')", "Raise topics[].payload_limit");
  refused("enqueue_batch('small', null, '{1,12345678901}'::jsonb[])", "have 11 bytes, its payload_limit allows 10");
  refused("enqueue('signup', '', '1')", "Use 1 to 256 characters");
  refused("enqueue_batch('signup', '{a}', '{1,2}'::jsonb[])", "Pass arrays of one length");
  refused("enqueue('signup', 'late', '1', deliver_at => 'infinity')", "Raise topics[].deliver_at_limit");
  refused("enqueue_batch('signup', null, '{1}'::jsonb[], deliver_at => array[now() + interval '31 days'])",
          "is beyond its deliver_at_limit (720:00:00 from now)");
  fixture.enqueue();
  fixture.wait_done(1);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 1);
}

TEST_CASE("an enqueued event waits for its deliver_at, in any form of enqueue") {
  LocalFixture fixture;
  const auto daemon = fixture.start();
  fixture.enqueue("late", ", deliver_at => clock_timestamp() + interval '2 seconds'");
  fixture.database.run("select inbox.enqueue_batch('signup', '{late}', '{1}'::jsonb[], deliver_at => "
                       "array[clock_timestamp() + interval '2 seconds'])");
  fixture.enqueue("early", ", deliver_at => '-infinity'");
  fixture.wait_done(3);
  CHECK(fixture.database.number("select count(*) from inbox.events e join inbox.outcome o on o.offsets @> e.\"offset\" "
                                "where e.event_type = 'late' and o.finished_at >= e.deliver_at") == 2);
  CHECK(fixture.database.number("select count(*) from inbox.events where deliver_at is not null") == 2);
}

TEST_CASE("--until-idle waits for the events that are enqueued at the start") {
  LocalFixture fixture;
  CHECK(fixture.start()->stop() == ExitStatus{0, 0});
  fixture.database.run("select inbox.enqueue_batch('signup', null, (select array_agg(to_jsonb(n)) from "
                       "generate_series(1, 3000) n))");
  DaemonProcess daemon{fixture.config, {"run", "--until-idle"}};
  CHECK(daemon.process().wait() == ExitStatus{0, 0});
  CHECK(fixture.recording.calls_by_event().size() == 3000);
  CHECK(fixture.database.number("select count(*) from inbox.local_event") == 0);
}
