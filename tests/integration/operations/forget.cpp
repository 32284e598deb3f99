// `events forget`: a person's data.
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "integration/operations/lanes_fixture.hpp"
#include "integration/operations/quarantined_records.hpp"
#include "support/process.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using End = LanesFixture::End;

namespace {

/// Everywhere that a key, a payload or a header can be.
std::string left_of(Inbox& inbox, const std::string& key) {
  return inbox.database().text(
      "select concat_ws(' ', (select count(*) from inbox.event where key = $1::bytea or payload is not null), "
      "(select count(*) from inbox.dead_letter where key = $1::bytea or order_key = $1::bytea or payload is not null), "
      "(select count(*) from inbox.quarantine where key = $1::bytea or payload is not null), "
      "(select count(*) from inbox.delivery where order_key = $1::bytea), (select count(*) from inbox.edit))",
      {key});
}

operations::Answer forget(Inbox& inbox, const std::string& key, bool dry_run = false) {
  OperationRunner runner{inbox};
  std::map<std::string, std::vector<std::string>> given{{"key", {key}}};
  if (dry_run) given["dry-run"] = {"true"};
  return runner.run("events forget", given);
}

}  // namespace

TEST_CASE("a forgotten key leaves no content in done, waiting, parked, dead and quarantined rows; ids stay") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("aaa");
  lanes.run('a', End::parks);
  lanes.store("a");
  Batch batch{inbox};
  batch.at(lanes.shard, 4).reject("no_id").store(inbox.connection());
  inbox.database().run("update inbox.quarantine set key = 'a', payload = 'x'");
  const auto ids = inbox.database().text("select string_agg(event_id::text, ' ' order by \"offset\") from inbox.event");
  const auto dry = forget(inbox, "a", true);
  CHECK(dry.document.at("events") == 4);
  CHECK(dry.document.at("dead_letters") == 3);
  CHECK(dry.document.at("records") == 1);
  const auto answer = forget(inbox, "a");
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("events") == 4);
  CHECK(answer.document.at("skipped") == 1);  // the event that was stored last was due
  CHECK(left_of(inbox, "a") == "0 0 0 0 0");
  CHECK(inbox.database().text("select string_agg(event_id::text, ' ' order by \"offset\") from inbox.event") == ids);
  CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == 3);
  CHECK(inbox.database().number("select count(*) from inbox.outcome") == 2);  // dead and skipped
  CHECK(forget(inbox, "a").code == ExitCode::no);
}

TEST_CASE("the audit has the events of a forgotten key, and neither the key nor a digest that could be guessed") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1).deliver_to(handler).store(inbox.connection());
  inbox.database().run("update inbox.event set key = 'customer-4711'");
  forget(inbox, "customer-4711");
  CHECK(inbox.database().text("select target || ' ' || (detail -> 'event_ids' ->> 0) from inbox.audit "
                              "where operation = 'events forget'") ==
        "a key " + inbox.database().text("select event_id::text from inbox.event"));
  CHECK(inbox.database().number("select count(*) from inbox.audit where audit::text like '%4711%' or "
                                "audit::text like '%' || encode(sha256('customer-4711'), 'hex') || '%'") == 0);
  CHECK(inbox.database().text("select state from inbox.deliveries") == "skipped");
  CHECK(claim_due(inbox.connection(), handler, inbox.owner).runs.empty());
}

TEST_CASE("forgetting a blocked key skips its events; other keys and later events of the key go on") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abab");
  lanes.run('a', End::retried);
  lanes.store("ab");
  CHECK(forget(inbox, "a").document.at("skipped") == 3);
  CHECK(lanes.lanes() == "");
  lanes.store("a");
  CHECK(lanes.drain() == "5 6");
}

TEST_CASE("an event that an instance has in memory is left alone until it is settled") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(3, "secret").deliver_to(handler).store(inbox.connection());
  inbox.database().run("update inbox.event set key = 'a' where \"offset\" = 1");
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  OperationRunner runner{inbox};
  int waits = 0;
  runner.context.pause = [&](milliseconds most) {
    if (most.count() > 0 && ++waits == 2) {
      CHECK(inbox.database().number("select count(*) from inbox.event where key = 'a'") == 1);
      inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
    }
    return false;
  };
  const auto answer = runner.run("events forget", {{"key-hex", {"61"}}});
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("events") == 1);
  CHECK(inbox.database().number("select count(*) from inbox.event where payload is null") == 1);
  CHECK(inbox.database().text("select string_agg(distinct state, ' ') from inbox.deliveries") == "done");
}

TEST_CASE("forgetting ends an expired lease: its owner can neither renew it nor record an outcome") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(2, "secret").deliver_to(handler).store(inbox.connection());
  inbox.database().run("update inbox.event set key = 'a' where \"offset\" = 1");
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox.database().run("update inbox.delivery set due_at = clock_timestamp() - interval '1 ms'");
  CHECK(forget(inbox, "a").code == ExitCode::done);
  CHECK(inbox::renew(inbox.connection(), inbox.owner, {run.key}, std::chrono::seconds{30}) == 0);
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {all_done(run)}) == std::vector{run.key});
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 1);
}

TEST_CASE("with events that stay leased, forgetting ends with `try again`") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1).deliver_to(handler).store(inbox.connection());
  inbox.database().run("update inbox.event set key = 'a'");
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  const auto answer = forget(inbox, "a");
  CHECK(answer.code == ExitCode::try_again);
  CHECK(answer.document.at("leased") == 1);
  CHECK(inbox.database().number("select count(*) from inbox.event where payload is not null") == 1);
}

TEST_CASE("no handler gets a forgotten event: not by a back-fill, a replay, or `quarantine retry`") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("ab");
  lanes.run('a', End::dead);
  Batch batch{inbox};
  batch.at(lanes.shard, 2).reject("no_id").store(inbox.connection());
  inbox.database().run("update inbox.quarantine set key = 'a', payload = 'x'");
  forget(inbox, "a");
  OperationRunner runner{inbox};
  CHECK(runner.run("dead replay", {{"all", {"true"}}}).code == ExitCode::done);
  CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == 0);
  CHECK(lanes.drain() == "");
  CHECK(inbox.database().number("select count(*) from inbox.outcome where outcome = 'skipped'") == 1);
  const auto late = inbox.add_handler("late", {}, {}, Inbox::beginning());
  backfill_all(inbox.connection());
  const auto runs = claim_due(inbox.connection(), late, inbox.owner).runs;
  REQUIRE(events_in(runs) == 1);
  CHECK(runs[0].events[0]->key == "b");
  const auto retried = runner.run("quarantine retry", {{"all", {"true"}}, {"dry-run", {"true"}}});
  CHECK(retried.document.at("not_kept") == 1);
}

// fault: a forgotten key
TEST_CASE("a forgotten key is nowhere in a dump: not in the outbox, its lanes, edits or source ids either") {
  const std::string key = "alice@example.org";
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(3, key).deliver_to(handler).reject("no_id").store(inbox.connection());
  inbox.database().run(
      "update inbox.event set key = $1, headers = $1, subject = $2, source_id = $2 "
      "where \"offset\" < 2",
      {key, key});
  inbox.database().run("update inbox.event set payload = null where \"offset\" = 2");
  inbox.database().run("update inbox.quarantine set key = $1, payload = $1, headers = $1, detail = $2", {key, key});
  auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  auto dead = all_done(run);
  dead.done = {};
  for (const auto* event : run.events) {
    const std::string whose = event->offset < 2 ? " to " + key : "";  // the third event has another key
    dead.failures.push_back({event->event_id, 1, "timeout", "no answer" + whose, milliseconds{12}});
    dead.dead.push_back({event->offset, event->event_id});
  }
  REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {dead}).empty());
  inbox.database().run("delete from inbox.dead_letter where \"offset\" = 2");
  inbox.database().run(
      "insert into inbox.edit (handler_id, shard_id, \"offset\", event_id, payload, received_at, edited_by) "
      "select handler_id, shard_id, \"offset\", event_id, payload, received_at, 'ann' from inbox.dead_letter "
      "where \"offset\" = 0");
  inbox.database().run(
      "insert into inbox.outbox (message_id, topic, key, payload, headers) "
      "select gen_random_uuid(), 'mail', key, bytes, bytes from (values ($1::bytea, $1::bytea), ('bob', 'bob')) v "
      "(key, bytes)",
      {key});
  inbox.database().run(
      "insert into inbox.outbox_waiting (outbox_id, message_id, topic, key, payload, published_at, lane, alone) "
      "values (100, gen_random_uuid(), 'mail', $1, $1, now(), 7, true), (101, gen_random_uuid(), 'mail', $1, $1, "
      "now(), 7, true), (102, gen_random_uuid(), 'all', 'bob', 'bob', now(), 8, true)",
      {key});
  inbox.database().run(
      "insert into inbox.outbox_lane (lane, topic, key, whole_topic, error, attempts, failed_id) "
      "values (7, 'mail', $1, false, 'unknown', 1, 100), (8, 'all', null, true, 'unknown', 1, 102)",
      {key});
  inbox.database().run(
      "update inbox.relay set owner = gen_random_uuid(), fence = 1, leased_until = now() + interval '1 hour'");
  CHECK(forget(inbox, key, true).document.at("messages") == 3);
  const auto answer = forget(inbox, key);
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("messages") == 3);
  const auto dump = run_to_end({{"pg_dump", "-n", inbox.database().schema(), inbox.database().url()}});
  REQUIRE(dump.status == ExitStatus{0, 0});
  CHECK(dump.out.find("COPY") != std::string::npos);
  CHECK(dump.out.find(key) == std::string::npos);
  CHECK(dump.out.find("616c696365406578616d706c652e6f7267") == std::string::npos);  // as bytea
  CHECK(inbox.database().text("select string_agg(convert_from(key, 'UTF8'), ' ') from (select key from inbox.outbox "
                              "union all select key from inbox.outbox_waiting) m") == "bob bob");
  // The lane ends at the relay's next look; the other lane still waits for an operator.
  CHECK(inbox.database().text("select string_agg(lane || ' ' || coalesce(due_at < now(), false), ', ' order by lane) "
                              "from inbox.outbox_lane") == "7 true, 8 false");
  CHECK(inbox.database().number("select count(*) from inbox.relay where owner is null") == 1);
}

TEST_CASE("forgetting finds a message that the relay moves at that moment") {
  Inbox inbox;
  inbox.database().run(
      "insert into inbox.outbox (message_id, topic, key, payload) values (gen_random_uuid(), 'mail', 'zoe', 'hello')");
  inbox.database().run(
      "update inbox.relay set owner = gen_random_uuid(), fence = 7, leased_until = now() + interval '1 hour'");
  Session relay{inbox.database().url(), inbox.database().schema()};
  relay.run("begin");
  relay.run(
      "select inbox.relay_set_aside(r.owner, 7, array[o.outbox_id], '{refused}', '{1}', '{60000}') "
      "from inbox.relay r, inbox.outbox o");
  std::thread moves{[&] {
    Session watch{inbox.database().url(), inbox.database().schema()};
    wait_until("forgetting waits for the relay", [&] {
      return watch.text("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%" +
                        inbox.database().schema() + "%forget_messages%'") == "1";
    });
    relay.run("commit");
  }};
  const auto answer = forget(inbox, "zoe");
  moves.join();
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.value("messages", 0) == 1);
  CHECK(inbox.database().number("select count(*) from inbox.outbox_waiting") == 0);
}

TEST_CASE("forgetting finds a record that a retry makes an event after the search for events") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  quarantine_records(inbox, shard, 0, {"one"});
  Batch batch{inbox};
  batch.at(shard, 1).events(1).store(inbox.connection());
  inbox.database().run("update inbox.quarantine set key = 'a'");
  OperationRunner runner{inbox};
  int looks = 0;
  runner.context.pause = [&](milliseconds) {
    // The first look has passed both offsets.
    if (++looks == 2) runner_for(inbox, {by_position()}).run("quarantine retry", all);
    return false;
  };
  CHECK(runner.run("events forget", {{"key", {"a"}}}).code == ExitCode::done);
  CHECK(inbox.database().number("select count(*) from inbox.event where key = 'a'") == 0);
  CHECK(inbox.database().number("select count(*) from inbox.quarantine where key = 'a'") == 0);
}
