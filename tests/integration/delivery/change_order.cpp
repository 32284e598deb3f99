// The order of a handler changes: mode, order_scope, order_by.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "inbox/handler_order.hpp"
#include "integration/delivery/in_order.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace inboxd::support::in_order;

namespace {

config::Handler settings_of(config::Mode mode, config::OrderScope scope, const std::string& order_by = "key") {
  config::Handler out = handler_named("receipt");
  out.mode = mode;
  out.order_scope = scope;
  out.order_by = order_by;
  return out;
}

/// Records in a transaction of its own, which stays open: the first event of the run fails, the others wait for it.
class OpenSettlement {
 public:
  OpenSettlement(InOrder& in_order, const inbox::LeasedRun& run)
      : session_{in_order.database().url(), in_order.database().schema()} {
    session_.run("begin");
    settled_ = session_.number(
        "select cardinality(inbox.settle($1::uuid, array[$2::bigint], array[$3::bigint], array['{[0,3)}'], "
        "array['{}'], array['{}'], array[1], array['{[0,1)}'], array[0::bigint], array['no'], array[4711::bigint], "
        "array['k'::bytea], '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', array[1], "
        "array['{[1,3)}'], array[4711::bigint], array['k'::bytea]))",
        {in_order.inbox.owner.text(), std::to_string(run.key.delivery_id), std::to_string(run.key.fence)});
  }
  std::int64_t settled() const { return settled_; }
  void commit() { session_.run("commit"); }

 private:
  Session session_;
  std::int64_t settled_ = 0;
};

/// Offsets of rows by their sequence, and whether a row is due or in no sequence.
std::string rows_by_sequence(InOrder& in_order) {
  return in_order.database().text(
      "select coalesce(string_agg(t.line, '; '), '') from (select case when sequence is null then 'none' when "
      "sequence = 0 then 'handler' else 'partition' end || case when lane is not null then ' lane' else '' end || ' ' "
      "|| pending || case when due_at <= clock_timestamp() then ' due' else '' end as line from inbox.delivery "
      "order by lower(pending)) t");
}

}  // namespace

// fault: mode, order key or scope of a handler changes beside other instances, under failing load
TEST_CASE("an open settlement leaves no event in the old sequence when the order of its handler changes") {
  struct Case {
    config::Mode mode;
    config::OrderScope scope;
    const char* rows;
  };
  const auto change = GENERATE(
      Case{config::Mode::sequential, config::OrderScope::handler, "handler lane {[0,1)} due; handler lane {[1,3)}"},
      Case{config::Mode::single, config::OrderScope::partition, "none {[0,1)} due; none {[1,3)} due"},
      Case{config::Mode::batch, config::OrderScope::partition, "handler {[0,1)} due; handler {[1,3)}"});
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  OpenSettlement open{in_order, log.claimed.runs.at(0)};
  REQUIRE(open.settled() == 1);

  const auto other = in_order.inbox.connect();
  std::thread registration{
      [&] { inbox::register_handlers(*other, {settings_of(change.mode, change.scope)}); }};
  in_order.database().wait_for("the change of order runs",
                               "select count(*) from pg_stat_activity where state = 'active' and query like '%" +
                                   in_order.database().schema() + ".change_order%' and pid <> pg_backend_pid()",
                               1);
  open.commit();
  registration.join();
  CHECK(rows_by_sequence(in_order) == change.rows);
  CHECK(inbox::find_misplaced(in_order.connection()).empty());
}

// fault: mode, order key or scope of a handler changes beside other instances, under failing load
TEST_CASE("a row that is split, claimed and retried while the order of its handler changes is in the new order") {
  InOrder in_order;
  inbox::register_handlers(in_order.connection(), {settings_of(config::Mode::single, config::OrderScope::partition)});
  for (const int events : {2, 1}) {
    Batch batch{in_order.inbox};
    batch.at(in_order.shard, events == 2 ? 0 : 2).events(events).deliver_to(in_order.handler);
    batch.store(in_order.connection());
  }
  Database& database = in_order.database();
  Session splits{database.url(), database.schema()}, holds{database.url(), database.schema()},
      settles{database.url(), database.schema()};
  const std::string handler = std::to_string(in_order.handler), owner = in_order.inbox.owner.text();
  const auto claim = [&](Session& session, const std::string& fence) {
    return session.text("select delivery_id from inbox.claim($1::int, $2::uuid, $3::bigint, '30 s', 1, 1, '-infinity')",
                        {handler, owner, fence});
  };
  splits.run("begin");
  claim(splits, "1");
  holds.run("begin; select from inbox.delivery where pending = '{[2,3)}' for update");

  const auto other = in_order.inbox.connect();
  std::thread registration{[&] {
    inbox::register_handlers(*other, {settings_of(config::Mode::batch, config::OrderScope::partition)});
  }};
  const std::string change = "select count(*) from pg_stat_activity where query like '%" + database.schema() +
                             ".change_order%' and pid <> pg_backend_pid() and ";
  database.wait_for("the first statement waits", change + "wait_event_type = 'Lock'", 1);
  splits.run("commit");
  const auto rest = claim(settles, "2");
  settles.run("begin");
  CHECK(settles.number(
            "select cardinality(inbox.settle($1::uuid, array[$2::bigint], array[2::bigint], array['{[1,2)}'], "
            "array['{}'], array['{}'], array[1], array['{[1,2)}'], array[0::bigint], array['no'], "
            "array[null::bigint], array[null::bytea], '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', "
            "'{}', '{}', '{}', '{}', '{}', '{}'))",
            {owner, rest}) == 1);
  holds.run("rollback");
  database.wait_for("a later statement waits for the settlement",
                    change + settles.text("select pg_backend_pid()") + " = any (pg_blocking_pids(pid))", 1);
  settles.run("commit");
  registration.join();
  CHECK(rows_by_sequence(in_order) == "handler {[0,1)}; handler {[1,2)} due; handler {[2,3)} due");
  CHECK(inbox::find_misplaced(in_order.connection()).empty());
}

TEST_CASE("a settlement adds no row to a sequence that has gone") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  in_order.database().run("delete from inbox.sequence");
  CHECK_FALSE(in_order.settle(Outcome{log.claimed.runs[0]}.retry(0, hour).wait({1, 2}).out));
  CHECK(rows_by_sequence(in_order) == "partition {[0,3)}");
}

TEST_CASE("a lane of the whole handler that is cut into partitions has a due first row in each") {
  InOrder in_order{config::OrderScope::handler};
  const auto other_shard = in_order.inbox.add_shard("orders", 1);
  in_order.store(2);
  Batch batch{in_order.inbox};
  batch.at(other_shard, 0).events(2).deliver_to(in_order.handler);
  batch.get().runs.back().sequence = inbox::whole_handler;
  batch.store(in_order.connection());
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(log.claimed.runs.size() == 2);
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.retry(0, hour).wait({1}).out));
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[1]}.wait({0, 1}).out));

  inbox::register_handlers(in_order.connection(),
                           {settings_of(config::Mode::sequential, config::OrderScope::partition)});
  CHECK(in_order.database().number("select count(*) from inbox.delivery where sequence <> shard_id") == 0);
  CHECK(in_order.database().number(
            "select count(*) from (select from inbox.delivery group by sequence, lane "
            "having bool_and(owner is null and due_at = 'infinity')) t") == 0);
}

TEST_CASE("with another order key, lanes end and their events run in their turn") {
  InOrder in_order{config::OrderScope::handler};
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.retry(0, hour).wait({1, 2}).out));
  const auto registered = inbox::register_handlers(
      in_order.connection(), {settings_of(config::Mode::sequential, config::OrderScope::handler, "subject")});
  CHECK(registered.at(0).change ==
        "order: sequential/handler/block/unordered/key -> sequential/handler/block/unordered/subject");
  CHECK(rows_by_sequence(in_order) == "handler {[0,1)}; handler {[1,3)}");
  in_order.take(in_order.inbox.owner, 2);
  CHECK(offsets_of(in_order.claim(2)) == Texts{"{[0,1)}", "{[1,3)}"});
}

TEST_CASE("an event that failed is put between its neighbours when lanes end") {
  InOrder in_order{config::OrderScope::handler};
  in_order.store(6);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.retry(1, hour).wait({3}).out));
  inbox::register_handlers(in_order.connection(),
                           {settings_of(config::Mode::sequential, config::OrderScope::handler, "subject")});
  CHECK(rows_by_sequence(in_order) ==
        "handler {[0,1)}; handler {[1,2)}; handler {[2,3)}; handler {[3,4)}; handler {[4,6)}");
}

TEST_CASE("an event that failed in a window is put between its neighbours in mode sequential") {
  InOrder in_order;
  inbox::register_handlers(in_order.connection(),
                           {settings_of(config::Mode::batch, config::OrderScope::partition)});
  in_order.database().run(
      "insert into inbox.delivery (handler_id, shard_id, sequence, pending, events, due_at, received_from, "
      "received_to) select handler_id, " + std::to_string(in_order.shard) +
      ", 0, pending, inbox.count_of(pending), 'infinity', now(), now() from inbox.handler, (values "
      "('{[5,10)}'::int8multirange), ('{[20,25)}'), ('{[0,2),[4,5)}'), ('{[3,4)}')) v(pending)");
  inbox::register_handlers(in_order.connection(),
                           {settings_of(config::Mode::sequential, config::OrderScope::partition)});
  CHECK(in_order.database().text("select string_agg(pending::text, ' ' order by ordinal, lower(pending)) "
                                 "from inbox.delivery") == "{[0,2)} {[3,4)} {[4,5)} {[5,10)} {[20,25)}");
}

TEST_CASE("rows that contradict the order of their handler are found and put right, once") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.retry(0, hour).wait({1, 2}).out));
  CHECK(inbox::find_misplaced(in_order.connection()).empty());
  CHECK(inbox::repair_order(in_order.connection(), in_order.handler) == 0);

  in_order.database().run("update inbox.delivery set sequence = 0 where lower(pending) = 1");
  const auto found = inbox::find_misplaced(in_order.connection());
  REQUIRE(found.size() == 1);
  CHECK(found[0].handler == "receipt");
  CHECK(inbox::repair_order(in_order.connection(), in_order.handler) == 2);
  CHECK(inbox::find_misplaced(in_order.connection()).empty());
  CHECK(in_order.lane_rows() == "{[0,1)} due, {[1,3)}");

  const std::string change = GENERATE("mode = 'single'", "mode = 'batch', order_scope = 'handler'",
                                      "order_scope = 'handler'");
  CAPTURE(change);
  in_order.database().run("update inbox.handler set " + change);
  CHECK(inbox::find_misplaced(in_order.connection()).size() == 1);
  CHECK(inbox::repair_order(in_order.connection(), in_order.handler) == 2);
  CHECK(inbox::find_misplaced(in_order.connection()).empty());
}

TEST_CASE("an instance holds a handler that a newer configuration orders otherwise") {
  Inbox inbox;
  const inbox::InstanceIdentity older{base::random_uuid(), "host-a", 1}, newer{base::random_uuid(), "host-b", 2};
  const auto registered = [&](const inbox::InstanceIdentity& instance, const std::string& order_by) {
    inbox::register_handlers(inbox.connection(),
                             {settings_of(config::Mode::sequential, config::OrderScope::handler, order_by)}, "daemon",
                             {}, instance);
  };
  const auto state = [&](const inbox::InstanceIdentity& instance) {
    return inbox.database().text(
        "select state from inbox.handler_holds($1::uuid, array(select handler_id from inbox.handler), '{}', '10 s')",
        {instance.instance_id.text()});
  };
  registered(older, "key");
  CHECK(state(older) == "open");
  registered(newer, "subject");
  CHECK(state(older) == "held");
  CHECK(state(newer) == "open");
  registered(older, "subject");
  CHECK(state(older) == "open");
}
