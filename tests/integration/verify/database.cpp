// `inboxd verify --against database`: each rule finds the contradiction that a test plants.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "integration/support/inbox.hpp"
#include "integration/support/roles_fixture.hpp"
#include "verify/fetch.hpp"
#include "verify/verify.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

verify::Report verified(inbox::Connection& connection, double sample = 1.0) {
  verify::Request request;
  request.kafka = false;
  request.sample = sample;
  verify::Report out;
  const config::Settings settings;
  verify::run({connection, settings}, request, out);
  return out;
}

std::string text_of(const verify::Report& report) { return verify::document_of(report).dump(2); }

/// Handlers receipt (single) and ledger (sequential) of topic orders. Offsets 0 to 9 are done for receipt, 10 to 19 are
/// pending for it; all are pending for ledger, 0 and 1 in a blocked key, and 2 is dead.
struct BusyInbox {
  BusyInbox() {
    auto in_order = handler_named("ledger");
    in_order.mode = config::Mode::sequential;
    const auto registered = inboxd::inbox::register_handlers(connection(), {handler_named("receipt"), in_order});
    receipt = registered.at(0).handler_id;
    ledger = registered.at(1).handler_id;
    shard = inbox.add_shard("orders");
    store(0, 10);
    for (const auto& run : claim_due(connection(), receipt, inbox.owner).runs) {
      inboxd::inbox::settle(connection(), inbox.owner, {all_done(run)});
    }
    store(10, 10);
    run("update inbox.delivery set pending = '{[3,10)}', events = 7 where handler_id = LEDGER and pending @> "
        "3::bigint");
    run("insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, lane, order_key, pending, events, "
        "due_at, "
        "received_from, received_to) select LEDGER, SHARD, SHARD, 1, 77, 'k', n.p, 1, n.due, '-infinity', 'infinity' "
        "from "
        "(values ('{[0,1)}'::int8multirange, now()), ('{[1,2)}', 'infinity')) n(p, due)");
    run("insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, received_at, attempts, "
        "reasons, sequence, ordinal) select LEDGER, event_id, SHARD, 2, 'Happened', received_at, 1, '[]', SHARD, 1 "
        "from "
        "inbox.event where \"offset\" = 2");
    run("insert into inbox.outbox (message_id, topic) values (gen_random_uuid(), 'payments')");
  }

  void store(std::int64_t at, int count) {
    Batch batch{inbox};
    batch.at(shard, at).events(count).deliver_to(receipt).deliver_to(ledger);
    batch.get().runs.back().sequence = shard;
    batch.store(connection());
  }

  /// LEDGER, RECEIPT and SHARD stand for the ids.
  void run(std::string sql) {
    for (const auto& [word, id] : {std::pair{"LEDGER", ledger}, {"RECEIPT", receipt}, {"SHARD", shard}}) {
      for (auto at = sql.find(word); at != std::string::npos; at = sql.find(word)) {
        sql.replace(at, std::string_view{word}.size(), std::to_string(id));
      }
    }
    inbox.database().run(sql);
  }

  /// Notes the rows of the tables that tests change; `restore` puts them back.
  void save() { for_each_table("create table inbox.saved_%1$s as table inbox.%1$s"); }
  void restore() {
    for_each_table(
        "delete from inbox.%1$s; insert into inbox.%1$s (%2$s) overriding system value select %2$s from "
        "inbox.saved_%1$s");
  }
  void for_each_table(const std::string& statement) {
    inbox.database().run(
        "do $do$ declare t record; begin for t in select c.relname, string_agg(quote_ident(a.attname), ', ') as "
        "columns "
        "from unnest(array['delivery', 'outcome', 'dead_letter', 'edit', 'quarantine', 'batch_window', 'outbox', "
        "'outbox_waiting', 'relay', 'position', 'ledger', 'event']) n join pg_class c on c.oid = ('inbox.' || "
        "n)::regclass join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and a.attgenerated = '' "
        "group by c.relname loop execute format('" +
        statement + "', t.relname, t.columns); end loop; end $do$");
  }

  inboxd::inbox::Connection& connection() { return inbox.connection(); }

  Inbox inbox;
  std::int32_t receipt = 0, ledger = 0, shard = 0;
};

/// A change by hand, and the one rule that it breaks.
struct Planted {
  const char* sql;
  const char* rule;
  const char* remedy;
};

const Planted planted[] = {
    {"delete from inbox.delivery where handler_id = RECEIPT", "missing_state",
     "inboxd handlers backfill receipt --from 20"},
    {"delete from inbox.outcome", "missing_state", "inboxd handlers backfill receipt --from 20"},
    {"insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to) values "
     "(RECEIPT, SHARD, '{[12,13)}', 1, now(), '-infinity', 'infinity')",
     "pending_twice", " --handler receipt --reason 'pending twice'"},
    {"insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to) values "
     "(RECEIPT, SHARD, '{[5,6)}', 1, now(), '-infinity', 'infinity')",
     "two_states", " --handler receipt --reason 'done before'"},
    {"insert into inbox.outcome values (RECEIPT, SHARD, '{[4,6)}', 'done', 1)", "two_states", "inboxd events trace "},
    {"insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, received_at, attempts, "
     "reasons) select handler_id, event_id, shard_id, 3, event_type, received_at, 1, '[]' from inbox.dead_letter",
     "two_states", "inboxd dead discard "},
    {"insert into inbox.outcome values (LEDGER, SHARD, '{[2,3)}', 'done', 2)", "two_states", "inboxd dead discard "},
    {"update inbox.delivery set received_to = received_to - interval '1 h', received_from = received_from - interval "
     "'2 h' where handler_id = RECEIPT",
     "pending_without_event", "inboxd events show orders/0/10"},
    {"update inbox.delivery set events = 3 where handler_id = RECEIPT", "pending_counts",
     "in psql: update inbox.delivery set events = inbox.count_of(pending) where delivery_id = "},
    {"insert into inbox.outcome values (LEDGER, SHARD, '{[2,3)}', 'dead', 1); delete from inbox.dead_letter",
     "missing_state", " --again"},
    {"update inbox.delivery set owner = gen_random_uuid(), fence = 1 where pending = '{[3,10)}'", "leases",
     "restart the daemon"},
    {"update inbox.delivery set due_at = 'infinity' where lane is not null", "lanes", "inbox.advance_lanes(array["},
    {"update inbox.dead_letter set state = 'parked', lane = 99", "parked", "inboxd dead replay "},
    {"insert into inbox.batch_window (handler_id) values (RECEIPT)", "windows", "psql"},
    {"insert into inbox.edit (handler_id, shard_id, \"offset\", event_id, received_at, edited_at, edited_by) values "
     "(RECEIPT, SHARD, 7000, gen_random_uuid(), now() - interval '3 d', now() - interval '3 d', 'ann')",
     "edits", "psql"},
    {"update inbox.relay set low_water = 1000", "outbox", "in psql: with lost as (delete from inbox.outbox where"},
    {"insert into inbox.outbox_waiting (outbox_id, message_id, topic, published_at, lane, alone) values (70, "
     "gen_random_uuid(), 'payments', now(), 5, false)",
     "outbox", "in psql: with lost as (delete from inbox.outbox_waiting where outbox_id = 70 returning "},
    {"update inbox.position set first_offset = 12 where first_offset = 10", "positions",
     "inboxd partitions seek orders 0 --to 10"},
    {"insert into inbox.quarantine (shard_id, \"offset\", reason, detail, payload_size, digest) values (99, 1, "
     "'no_id', "
     "'', 0, 0)",
     "orphans", "psql"},
    {"delete from inbox.ledger where \"offset\" = 4", "event_without_id", "in psql: insert into inbox.ledger "},
    {"delete from inbox.event where \"offset\" = 14", "id_without_event", "restore the event's row from a backup"},
    {"insert into inbox.event (shard_id, \"offset\", event_id, event_type, received_at) select shard_id, 5000, "
     "event_id, event_type, received_at from inbox.event where \"offset\" = 4",
     "stored_twice", "inboxd events trace "},
    {"insert into inbox.event (shard_id, \"offset\", event_id, event_type, received_at) select shard_id, \"offset\", "
     "event_id, event_type, received_at + interval '1 s' from inbox.event where \"offset\" = 4",
     "stored_twice", "inboxd events trace "},
    {"with again as (insert into inbox.event (shard_id, \"offset\", event_id, event_type, received_at) select "
     "shard_id, \"offset\", gen_random_uuid(), event_type, received_at from inbox.event where \"offset\" = 4 "
     "returning *) insert into inbox.ledger (event_id, shard_id, generation, \"offset\", digest, received_at) select "
     "event_id, shard_id, 1, \"offset\", 1, received_at from again",
     "two_events", "inboxd events trace "},
    {"insert into inbox.event select * from inbox.event where \"offset\" = 4", "two_events",
     "in psql: delete from inbox.event where "},
};

}  // namespace

TEST_CASE("a busy inbox contradicts no rule") {
  BusyInbox busy;
  const auto report = verified(busy.connection());
  INFO(text_of(report));
  CHECK(report.is_good());
  CHECK(report.rules.size() >= 14);
}

TEST_CASE("each contradiction is found by its rule, with a remedy") {
  BusyInbox busy;
  busy.save();
  for (const auto& plant : planted) {
    busy.run(plant.sql);
    const auto report = verified(busy.connection());
    INFO(plant.sql << "\n" << text_of(report));
    CHECK(report.found > 0);
    bool has_remedy = false;
    for (const auto& found : report.contradictions) {
      has_remedy = has_remedy || (found.rule == plant.rule && found.remedy.find(plant.remedy) != std::string::npos);
    }
    CHECK(has_remedy);
    for (const auto& rule : report.rules) {
      CAPTURE(rule.rule);
      const bool follows = std::string_view{plant.rule} == "id_without_event" && rule.rule == "pending_without_event";
      if (rule.rule != plant.rule && !follows) CHECK(rule.contradictions == 0);
    }
    busy.restore();
  }
  CHECK(verified(busy.connection()).is_good());
}

TEST_CASE("events that the ledger or retention may have forgotten are not taken for contradictions") {
  BusyInbox busy;
  busy.run("insert into inbox.event (shard_id, \"offset\", event_id, event_type, received_at) select shard_id, 5000, "
           "event_id, event_type, received_at from inbox.event where \"offset\" = 4");
  busy.run("update inbox.ledger_trim set forgotten_before = current_date + 1");
  CHECK(verified(busy.connection()).is_good());
  busy.run("delete from inbox.event where \"offset\" >= 5000");
  // Handled, and deleted under a shorter retention than today's.
  busy.run("update inbox.delivery set pending = pending - '{[4,5)}', events = events - 1 where pending @> 4::bigint");
  busy.run("insert into inbox.outcome values (LEDGER, SHARD, '{[4,5)}', 'done', 1)");
  busy.run("delete from inbox.event where \"offset\" = 4");
  CHECK(verified(busy.connection()).found == 1);  // not by retention
  busy.run("update inbox.shard set trimmed_before = clock_timestamp()");
  const auto report = verified(busy.connection());
  INFO(text_of(report));
  CHECK(report.is_good());
}

TEST_CASE("a double is excused only by a backfill of its handler, or a seek of its partition from its offset on") {
  BusyInbox busy;
  busy.run("insert into inbox.outcome values (RECEIPT, SHARD, '{[4,6)}', 'done', 1)");
  const auto note = [&](const std::string& operation, const std::string& target) {
    busy.run("insert into inbox.audit (actor, operation, target) values ('ann', '" + operation + "', '" + target +
             "')");
  };
  const auto first_found = [&] {
    const auto report = verified(busy.connection());
    UNSCOPED_INFO(text_of(report));
    return report.contradictions.empty() ? -1 : report.contradictions.front().offset.value_or(-2);
  };
  note("handlers backfill", "ledger");
  note("partitions seek", "orders/1");
  CHECK(first_found() == 4);
  note("partitions seek", "orders/0");
  busy.run("insert into inbox.position values (SHARD, 1, -1, 5, 0)");
  CHECK(first_found() == 4);
  busy.run("insert into inbox.position values (SHARD, 2, -1, 4, 0)");
  CHECK(first_found() == -1);
  busy.run("insert into inbox.outcome values (RECEIPT, SHARD, '{[4,5)}', 'done', 1)");
  busy.run("insert into inbox.outcome values (RECEIPT, SHARD, '{[4,5)}', 'done', 1)");
  CHECK(first_found() == 4);
  note("handlers backfill", "receipt");
  CHECK(first_found() == -1);
}

TEST_CASE("a double is excused by a backfill with --again until it has ended, as the event may have been pending") {
  BusyInbox busy;
  const auto found = [&] { return verified(busy.connection()).found; };
  busy.run("insert into inbox.outcome values (RECEIPT, SHARD, '{[4,6)}', 'done', 1)");
  CHECK(found() > 0);
  const auto request = [&](const std::string& again, const std::string& ended_at) {
    busy.run("delete from inbox.backfill_request");
    busy.run("insert into inbox.backfill_request (handler_id, from_time, to_time, again, offsets, ended_at) values "
             "(RECEIPT, '-infinity', 'infinity', " + again + ", 1, " + ended_at + ")");
    return found();
  };
  CHECK(request("true", "null") == 0);
  CHECK(request("true", "clock_timestamp()") == 0);
  CHECK(request("true", "clock_timestamp() - interval '1 hour'") > 0);
  CHECK(request("false", "null") > 0);
}

TEST_CASE("only a replay of the event itself excuses that the ledger lacks its id, or has it for another place") {
  BusyInbox busy;
  busy.run("delete from inbox.ledger where \"offset\" = 4");
  busy.run("insert into inbox.event (shard_id, \"offset\", event_id, event_type, received_at) select shard_id, 5000, "
           "event_id, event_type, received_at from inbox.event where \"offset\" = 6");
  const auto replay = [&](const std::string& operation, int offset) {
    busy.run("insert into inbox.audit (actor, operation, target, detail) select 'ann', '" + operation +
             "', 'all', jsonb_build_object('event_ids', jsonb_agg(event_id)) from inbox.event where \"offset\" = " +
             std::to_string(offset));
  };
  const auto found = [&] {
    std::vector<std::string> out;
    for (const auto& one : verified(busy.connection()).contradictions) out.push_back(one.rule);
    return out;
  };
  for (const char* const operation : {"dead replay", "dead edit", "dead discard", "lanes release"}) {
    replay(operation, 7);
  }
  CHECK(found() == std::vector<std::string>{"event_without_id", "stored_twice"});
  replay("dead replay", 4);
  replay("lanes release", 6);
  CHECK(found().empty());
}

TEST_CASE("an event that came again on another topic has a state for the handlers of that topic") {
  BusyInbox busy;
  const auto of_payments = busy.inbox.add_handler("of-payments", {"payments"});
  const auto payments = busy.inbox.add_shard("payments");
  Batch first{busy.inbox};
  first.at(busy.shard, 20).events(2).deliver_to(busy.receipt).deliver_to(busy.ledger);
  first.get().runs.back().sequence = busy.shard;
  first.store(busy.connection());
  const auto late = busy.inbox.add_handler("of-all-later");  // its first subscription has topic orders, too
  CHECK(late != of_payments);
  Batch again{busy.inbox};
  again.at(payments, 0).event(first.events()[0].event_id).event(first.events()[1].event_id).deliver_to(of_payments);
  CHECK(again.store(busy.connection()).stored == 0);
  const auto good = verified(busy.connection());
  INFO(text_of(good));
  REQUIRE(good.is_good());

  busy.run("delete from inbox.delivery where pending @> 21::bigint and handler_id = " + std::to_string(of_payments));
  const auto report = verified(busy.connection());
  INFO(text_of(report));
  REQUIRE(report.found == 1);
  const auto& found = report.contradictions.front();
  CHECK(found.rule == "missing_state");
  CHECK(found.handler == "of-payments");
  CHECK(found.topic + "/" + std::to_string(found.offset.value_or(-1)) == "orders/21");
}

TEST_CASE("neither an outcome nor a dead letter excuses that the row of an event is gone") {
  BusyInbox busy;
  busy.run("delete from inbox.event where \"offset\" between 2 and 4");  // 2: a dead letter; all: done for receipt
  busy.run("update inbox.delivery set pending = pending - '{[3,5)}', events = events - 2 where pending @> 4::bigint");
  busy.run("insert into inbox.outcome values (LEDGER, SHARD, '{[3,5)}', 'done', 2)");
  const auto report = verified(busy.connection());
  INFO(text_of(report));
  REQUIRE(report.found == 3);
  for (const auto& found : report.contradictions) CHECK(found.rule == "id_without_event");
}

TEST_CASE("a sample says which rules it left out") {
  BusyInbox busy;
  const auto report = verified(busy.connection(), 1e-6);
  INFO(text_of(report));
  CHECK(report.is_good());
  for (const auto& rule : report.rules) CHECK(rule.is_checked == (rule.rule != "id_without_event"));
}

TEST_CASE("no record is fetched whose position has moved, or that would be stored twice") {
  BusyInbox busy;
  verify::PartitionResult lost;
  lost.topic = "orders";
  lost.shard_id = busy.shard;
  lost.position = 20;
  lost.first_missing = 4;
  const auto problem = [&] { return verify::problem_with_fetch(busy.connection(), lost); };
  CHECK(problem().empty());
  lost.last_forgotten = 3;
  CHECK(problem().empty());
  busy.run("delete from inbox.ledger where \"offset\" = 7");
  CHECK_THAT(problem(), ContainsSubstring("the ledger no longer has the id of the record at offset 7"));
  lost.first_missing = 8;
  CHECK(problem().empty());
  lost.last_forgotten = 9;
  CHECK_THAT(problem(), ContainsSubstring("the ledger no longer has the id of the record at offset 9"));
  lost.last_forgotten.reset();
  lost.last_other_id = 7;
  CHECK(problem().empty());
  lost.last_other_id = 8;
  lost.other_id_rule = "custom";
  CHECK_THAT(problem(), ContainsSubstring("rule custom does not give the record at offset 8 the id of its event"));
  lost.last_other_id.reset();
  lost.problem = "no record came for 30 s";
  CHECK_THAT(problem(), ContainsSubstring("it was not verified to its end"));
  lost.problem.clear();
  lost.first_missing = 20;
  CHECK_THAT(problem(), ContainsSubstring("the position has been moved"));
  lost.first_missing = 8;
  busy.run("insert into inbox.position values (SHARD, 1, -1, 5, 0)");
  CHECK_THAT(problem(), ContainsSubstring("the position has been moved"));
}

TEST_CASE("a handler's history does not count: it began later, was retired meanwhile, or subscribed to other types") {
  BusyInbox busy;
  static_cast<void>(busy.inbox.add_handler("late"));
  CHECK(verified(busy.connection()).is_good());
  busy.run("update inbox.handler set retired_at = now() where handler_id = RECEIPT");
  busy.run("delete from inbox.delivery where handler_id = RECEIPT");
  CHECK(verified(busy.connection()).is_good());
  busy.run("insert into inbox.audit (actor, operation, target) values ('ann', 'handlers restore', 'receipt')");
  busy.run("update inbox.handler set retired_at = null where handler_id = RECEIPT");
  const auto report = verified(busy.connection());
  INFO(text_of(report));
  CHECK(report.is_good());
}

TEST_CASE("while events are stored, claimed and settled, no half of a change is taken for a contradiction") {
  BusyInbox busy;
  std::atomic<bool> stopping{false};
  std::atomic<int> turns{0};
  std::thread worker{[&] {
    const auto connection = busy.inbox.connect("worker");
    for (std::int64_t at = 20; !stopping; at += 50, ++turns) {
      Batch batch{busy.inbox};
      batch.at(busy.shard, at).events(50).deliver_to(busy.receipt).deliver_to(busy.ledger);
      batch.get().runs.back().sequence = busy.shard;
      batch.store(*connection);
      for (const auto& run : claim_due(*connection, busy.receipt, busy.inbox.owner, 40).runs) {
        inbox::settle(*connection, busy.inbox.owner, {all_done(run)});
      }
    }
  }};
  const auto connection = busy.inbox.connect("verify");
  std::string contradictions;
  for (int i = 0; i < 5 || turns < 10; ++i) {
    const auto report = verified(*connection);
    if (!report.is_good()) contradictions = text_of(report);
  }
  stopping = true;
  worker.join();
  INFO(turns << " batches");
  CHECK(contradictions.empty());
}

TEST_CASE("verified offsets belong to a database: a copy has the same tables under the same numbers") {
  BusyInbox busy;
  const auto known_as = [&] { return verify::read_moment(busy.connection()).server; };
  CHECK(known_as() == known_as());
  const auto database = busy.inbox.database().text(
      "select d.oid || ' ' || 'inbox.position'::regclass::oid from pg_database d where d.datname = current_database()");
  CHECK_THAT(known_as(), ContainsSubstring(" " + database));
}

TEST_CASE("a report says which share was verified, and how many records could not be checked") {
  BusyInbox busy;
  CHECK(verify::document_of(verified(busy.connection())).at("sample") == 1.0);
  auto report = verified(busy.connection(), 0.25);
  CHECK(verify::document_of(report).at("sample") == 0.25);
  CHECK(verify::document_of(report).at("not_checkable") == 0);
  CHECK(verify::document_of(report).at("remarks").empty());
  report.partitions.resize(2);
  report.partitions[0].not_checkable = 20;
  report.partitions[1].not_checkable = 3;
  CHECK(verify::document_of(report).at("not_checkable") == 23);
  CHECK_THAT(verify::document_of(report).at("remarks").dump(), ContainsSubstring("23 records could not be checked"));
}

TEST_CASE("roles that only read can verify") {
  BusyInbox busy;
  RolesFixture roles{busy.inbox};
  roles.apply();
  for (const std::string role : {"reader", "monitor"}) {
    CAPTURE(role);
    const auto connection = roles.connect({role});
    const auto report = verified(*connection);
    INFO(text_of(report));
    CHECK(report.is_good());
  }
}

TEST_CASE("the same events are in the sample each time") {
  std::int64_t chosen = 0;
  for (std::int64_t block = 0; block < 10'000; ++block) {
    const bool is_chosen = verify::is_in_sample("orders", 3, block, 0.01);
    CHECK(is_chosen == verify::is_in_sample("orders", 3, block, 0.01));
    chosen += is_chosen ? 1 : 0;
  }
  CHECK(chosen > 50);
  CHECK(chosen < 150);
}
