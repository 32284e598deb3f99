#include "integration/delivery/writers.hpp"

#include <algorithm>

namespace inboxd::support::writers {
namespace {

using std::to_string;
namespace statements = inbox::statements;

constexpr int events = 20;

std::string row(int place, int number) { return to_string(100 * place + number); }
std::string rows(int place, std::initializer_list<int> numbers) {
  std::string out;
  for (const int number : numbers) out += (out.empty() ? "{" : ",") + row(place, number);
  return out + "}";
}

}  // namespace

State::State() {
  config::Handler ordered = handler_named("ordered");
  ordered.mode = config::Mode::sequential;
  inbox::register_handlers(inbox_.connection(), {ordered, handler_named("single")});
  handler_ = database().text("select handler_id from inbox.handler where name = 'ordered'");
  single_ = database().text("select handler_id from inbox.handler where name = 'single'");
  shards_ = {inbox_.add_shard("orders", 0), inbox_.add_shard("orders", 1)};
  std::sort(shards_.begin(), shards_.end());
  for (const std::int32_t shard : shards_) Batch{inbox_}.at(shard, 0).events(events).store(inbox_.connection());
  database().run("select setval(pg_get_serial_sequence('inbox.delivery', 'delivery_id'), 10000)");
  database().run("select setval(pg_get_serial_sequence('inbox.outbox', 'outbox_id'), 10000)");
  create_functions();
}

void State::reset(bool with_ended_leases) {
  database().run("select inbox.reset_state($1)", {with_ended_leases ? "true" : "false"});
}

/// Functions, so that each session plans their statements once.
void State::create_functions() {
  const std::string lease =
      "clock_timestamp() + case when p_ended then '-1 s'::interval else '1 h'::interval end";
  std::string sql =
      "delete from inbox.delivery; delete from inbox.dead_letter; delete from inbox.outcome; "
      "delete from inbox.failure; "
      "delete from inbox.sequence; delete from inbox.event where \"offset\" >= 20; "
      "delete from inbox.ledger where \"offset\" >= 20; delete from inbox.position where next_offset > 20; "
      "update inbox.routing set version = 1; delete from inbox.backfill_request; "
      "insert into inbox.backfill_request (handler_id, from_time, to_time, again, offsets) values (" + handler_ +
      ", '-infinity', now() + interval '1 h', true, 4); "
      "update inbox.handler set retired_at = null, order_scope = 'partition', "
      "mode = case name when 'ordered' then "
      "'sequential' else 'single' end; "
      "update inbox.event set forgotten_at = null where forgotten_at is not null; ";
  for (const int place : {0, 1}) {
    const std::string at = handler_ + ", " + shard(place) + ", " + shard(place);
    sql += "insert into inbox.sequence values (" + handler_ + ", " + shard(place) + ", '" + owner_ + "', 7, " + lease +
           ");";
    sql +=
        "insert into inbox.delivery (delivery_id, handler_id, shard_id, sequence, lane, pending, events, attempts, "
        "fence, owner, claims, due_at, received_from, received_to) select " +
        to_string(100 * place) + " + n, " + at +
        ", lane, pending, inbox.count_of(pending), attempts, case when leased then 11 else 0 end, case when leased "
        "then '" + owner_ + "'::uuid end, leased::int, due, '-infinity', 'infinity' from (values "
        "(1, null::bigint, '{[0,3)}'::int8multirange, 0, true, 'infinity'::timestamptz), "
        "(2, null, '{[3,6)}', 0, true, 'infinity'), (3, null, '{[6,9)}', 0, false, 'infinity'), "
        "(4, 500, '{[9,10)}', 1, false, now() + '1 h'), (5, 500, '{[10,12)}', 0, false, 'infinity'), "
        "(6, 600, '{[12,13)}', 1, true, 'infinity'), (7, 600, '{[13,15)}', 0, false, 'infinity')) "
        "v(n, lane, pending, attempts, leased, due) order by n desc;";
    sql += "insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, received_at, "
           "attempts, reasons, state, sequence, ordinal, lane, parks) select " + handler_ + ", e.event_id, e.shard_id, "
           "e.\"offset\", e.event_type, e.received_at, 1, '[]', state, e.shard_id, e.\"offset\", lane, parks "
           "from (values (15, 'dead', 700, true), (16, 'parked', 700, false), (17, 'dead', null, false)) "
           "v(\"offset\", state, lane, parks) join inbox.event e using (\"offset\") "
           "where e.shard_id = " + shard(place) + ";";
    sql += "insert into inbox.backfill_range values (" + handler_ + ", " + shard(place) + ", 18, 20, false);";
  }
  sql +=
      "insert into inbox.delivery (delivery_id, handler_id, shard_id, pending, events, fence, owner, claims, due_at, "
      "received_from, received_to) select n, " + single_ + ", " + shard(0) + ", pending, inbox.count_of(pending), "
      "case when leased then 11 else 0 end, case when leased then '" + owner_ + "'::uuid end, leased::int, due, "
      "'-infinity', 'infinity' from (values (301, '{[0,3)}'::int8multirange, true, now() + '1 h'), "
      "(302, '{[3,6)}', true, now() + '1 h'), (303, '{[6,20)}', false, now())) v(n, pending, leased, due) "
      "order by n desc; "
      "insert into inbox.outcome values (" + single_ + ", " + shard(1) + ", '{[0,20)}', 'done', 1);";
  sql += reset_messages(lease);
  database().run("create function inbox.reset_state(p_ended boolean) returns void language plpgsql as $f$ begin " +
                 sql + " end $f$");
  database().run("create function inbox.complaint() returns text language plpgsql as $f$ begin return (" +
                 complaint_query() + "); end $f$");
}

std::string State::complaint() { return database().text("select coalesce(inbox.complaint(), '')"); }

std::string State::complaint_query() {
  return
      "with state as (select h.handler_id, e.shard_id, e.\"offset\", "
      "(select count(*) from inbox.delivery d where d.handler_id = h.handler_id and d.shard_id = e.shard_id "
      " and d.pending @> e.\"offset\") as pending, "
      "(select count(*) from inbox.dead_letter x where x.handler_id = h.handler_id and x.shard_id = e.shard_id "
      " and x.\"offset\" = e.\"offset\") as dead, "
      "(select count(*) from inbox.outcome o where o.handler_id = h.handler_id and o.shard_id = e.shard_id "
      " and o.offsets @> e.\"offset\" and o.outcome <> 'dead') as ended, "
      "(select count(*) from inbox.backfill_range g where g.handler_id = h.handler_id and g.shard_id = e.shard_id "
      " and g.next_offset <= e.\"offset\" and g.end_offset > e.\"offset\") as to_come "
      "from inbox.event e, inbox.handler h) "
      "select 'offset ' || \"offset\" || ' of shard ' || shard_id || ' is pending in ' || pending || ' rows, with ' || "
      "dead || ' dead letters, ' || ended || ' outcomes and ' || to_come || ' back-fills' from state "
      "where pending + dead + ended + to_come <> 1 "
      "union all select 'the first row of a lane is neither due nor leased' from (select distinct on (handler_id, "
      "sequence, lane) owner, due_at from inbox.delivery where lane is not null order by handler_id, sequence, lane, "
      "coalesce(ordinal, delivery_id), inbox.stored_at(delivery), shard_id, lower(pending)) l "
      "where l.owner is null and l.due_at = 'infinity' "
      "union all select 'a row has another sequence than its handler says' from inbox.delivery d join inbox.handler h "
      "using (handler_id) where d.sequence is not null and d.sequence is distinct from "
      "inbox.sequence_of(h.mode, h.order_scope, d.shard_id) "
      "union all select 'message ' || outbox_id || ' is to be sent, and waits' from inbox.outbox "
      "join inbox.outbox_waiting using (outbox_id) "
      "union all select 'message ' || outbox_id || ' waits in no lane' from inbox.outbox_waiting w "
      "where not exists (select from inbox.outbox_lane l where l.lane = w.lane) limit 1";
}

std::vector<std::string> State::wanted_rows() const {
  const std::string of_delivery = "select from inbox.delivery where delivery_id = ";
  std::vector<std::string> out{of_delivery + "1", of_delivery + "2", of_delivery + "6",
                               "select from inbox.sequence where sequence = " + shard(0),
                               "select from inbox.relay",
                               "select from inbox.outbox where outbox_id = 2",
                               "select from inbox.outbox_waiting where outbox_id = 12",
                               "select from inbox.outbox_lane where failed_id = 11"};
  for (std::string& each : out) each += " for update";
  return out;
}

void State::vacuum() {
  database().run(
      "vacuum inbox.delivery, inbox.dead_letter, inbox.outcome, inbox.failure, inbox.sequence, inbox.handler, "
      "inbox.routing, inbox.backfill_request, inbox.backfill_range, inbox.event, inbox.ledger, inbox.position, "
      "inbox.outbox, inbox.outbox_waiting, inbox.outbox_lane, inbox.relay");
}


Step State::settle(const std::string& arrays) const {
  return {"select inbox.settle('" + owner_ + "', " + arrays + ")"};
}

/// The arguments of inbox.settle after the owner: rows, settled and done offsets, then what the text adds.
std::vector<Writer> State::settling() {
  const std::string none = "'{}', '{}', '{}', '{}', '{}', '{}'";
  // g_ an event is retried in lane 800; w_ the others wait for it.
  const std::string retry =
      "array[1], array['{[3,4)}'], array[0::bigint], array['no'], array[800::bigint], array['k'::bytea]";
  const std::string wait = "array[1], array['{[4,6)}'], array[800::bigint], array['k'::bytea]";
  const auto fails = [=, this](int place) {
    return settle("'" + rows(place, {2}) + "', '{11}', array['{[3,6)}'], array['{}'], array['{}'], " + retry + ", " +
                  none + ", " + none + ", " + wait);
  };
  const auto done = [this](int place) {  // the rows in descending order
    return Step{statements::settle_done.sql, {owner_, rows(place, {2, 1}), "{11,11}", "{\"{[3,6)}\",\"{[0,3)}\"}"}};
  };
  return {
      {"settle_done", [=](int place) { return Steps{done(place)}; }},
      {"settle_parts",
       [this](int place) {
         return Steps{{statements::settle_parts.sql,
                       {owner_, rows(place, {2, 1}), "{11,11}", "{\"{[3,4)}\",\"{[0,3)}\"}", "{1,3}"}}};
       }},
      {"settle, a failure", [=](int place) { return Steps{fails(place)}; }},
      {"settle, then settle_done",
       [=, this](int place) {
         return Steps{fails(place), {statements::settle_done.sql, {owner_, rows(place, {1}), "{11}", "{\"{[0,3)}\"}"}}};
       }},
      {"settle, the head of a lane is done",
       [=, this](int place) {
         return Steps{settle("'" + rows(place, {6}) + "', '{11}', array['{[12,13)}'], array['{[12,13)}'], "
                             "array['{}'], " + none + ", " + none + ", " + none + ", '{}', '{}', '{}', '{}'")};
       }},
      {"settle, the head of a lane is dead",
       [=, this](int place) {
         return Steps{settle("'" + rows(place, {6}) + "', '{11}', array['{[12,13)}'], array['{}'], "
                             "array['{}'], " + none +
                             ", " + none + ", array[1], array[12::bigint], array[(select event_id from inbox.event "
                             "where shard_id = " + shard(place) + " and \"offset\" = 12)], array['parks'], "
                             "array[600::bigint], array['k'::bytea], '{}', '{}', '{}', '{}'")};
       }},
      {"settle_skipped",
       [this](int place) {
         return Steps{{statements::settle_skipped.sql, {owner_, rows(place, {2, 1}), "{11,11}"}}};
       }},
      {"settle without order, then settle_done",
       [=, this](int /*place*/) {
         return Steps{settle("'{302}', '{11}', array['{[3,6)}'], array['{}'], array['{}'], array[1], array['{[3,6)}'], "
                             "array[0::bigint], array['no'], array[null::bigint], array[null::bytea], " + none + ", " +
                             none + ", '{}', '{}', '{}', '{}'"),
                      {statements::settle_done.sql, {owner_, "{301}", "{11}", "{\"{[0,3)}\"}"}}};
       }},
      {"settle_done without order",
       [this](int /*place*/) {
         return Steps{{statements::settle_done.sql, {owner_, "{302,301}", "{11,11}", "{\"{[3,6)}\",\"{[0,3)}\"}"}}};
       }},
  };
}

std::vector<Writer> State::claiming() {
  const std::string both = "{" + shard(1) + "," + shard(0) + "}";
  return {
      {"slice",
       [this](int place) {
         return Steps{{"select * from inbox.slice($1, 11, $2, 1)", {owner_, rows(place, {2, 1})}}};
       }},
      {"release_leases",
       [this](int place) { return Steps{{statements::release_leases.sql, {owner_, rows(place, {2, 1}), "{11,11}"}}}; }},
      {"renew",
       [this](int /*place*/) { return Steps{{statements::renew.sql, {owner_, "{302,301}", "{11,11}", "1000"}}}; }},
      {"release_claims",
       [this](int /*place*/) { return Steps{{statements::release_claims.sql, {owner_, single_, "{11}", "10000"}}}; }},
      {"claim",
       [this](int /*place*/) {
         return Steps{{"select * from inbox.claim($1, $2, 12, '1 h', 5, 10, '-infinity')", {single_, owner_}}};
       }},
      {"claim_in_order",
       [this](int place) {
         return Steps{{"select * from inbox.claim_in_order($1, $2, 12, 1000, 10, '-infinity', array[$3::int], '{7}', "
                       "array[$3::int], '{-1}', '{1000}', '{1000}', 0, 1000)",
                       {handler_, owner_, shard(place)}}};
       }},
      {"take_sequences",
       [=, this](int /*place*/) {
         return Steps{{"select * from inbox.take_sequences($1, $2, 8, '1 h', $3, true, (select order_settings from "
                       "inbox.handler where handler_id = $1::int))",
                       {handler_, other_, both}}};
       },
       false, false, true},
      {"renew_sequences",
       [=, this](int /*place*/) {
         return Steps{{statements::renew_sequences.sql, {handler_, owner_, both, "{7,7}", "1000"}}};
       }},
      {"end_leases",
       [this](int /*place*/) { return Steps{{statements::end_leases.sql, {"{" + owner_ + "}", other_, "100"}}}; }},
      {"change_fences", [=, this](int /*place*/) { return Steps{{statements::change_fences.sql, {owner_}}}; }},
      {"release_sequences",
       [=, this](int /*place*/) {
         return Steps{{statements::release_sequences.sql, {handler_, owner_, both, "{7,7}"}}};
       }},
  };
}

std::vector<Writer> State::operating() {
  const Steps begin{{statements::share_routing.sql}, {statements::op_dead_lock.sql}};
  const auto behind = [begin](Step step) {
    Steps out = begin;
    out.push_back(std::move(step));
    return out;
  };
  const auto letters = [this](int place, const std::string& which) {
    return "array(select dead_letter_id from inbox.dead_letter where shard_id = " + shard(place) + " and " + which +
           " order by 1 desc)";
  };
  const auto changes = [this](int number, int offset, const std::string& reason) {
    return [this, number, offset, reason](int place) {
      return Steps{{"select inbox.change_event('test', 'test', $1, $2, (select event_id from inbox.event where "
                    "shard_id = $3 and \"offset\" = $2), nullif($4, ''))",
                    {row(place, number), to_string(offset), shard(place), reason}}};
    };
  };
  return {
      {"dead replay",
       [=](int place) {
         return behind({"select inbox.replay_dead(" + letters(place, "state = 'dead'") + ", false, 100)"});
       }},
      {"lanes release",
       [=](int place) { return behind({"select inbox.replay_dead(" + letters(place, "parks") + ", true, 100)"}); }},
      {"dead discard",
       [=, this](int place) {
         Steps out = behind({"select from inbox.sequence where handler_id = " + handler_ + " and sequence = " +
                             shard(place) + " for no key update"});
         out.push_back({"with gone as (delete from inbox.dead_letter where dead_letter_id = any (" +
                        letters(place, "lane is null") + ") returning *) insert into inbox.outcome select handler_id, "
                        "shard_id, int8multirange(int8range(\"offset\", \"offset\" + 1)), 'discarded', 1 from gone"});
         return out;
       }},
      {"events retry", changes(4, 9, "")},
      {"events retry of a handler",
       [=](int /*place*/) { return Steps{{statements::op_events_retry_all.sql, {"ordered", "{}", "100", "false"}}}; }},
      {"events skip in a lane", changes(4, 9, "a test")},
      {"events skip in turn", changes(3, 7, "a test")},
      {"events forget",
       [=, this](int place) {
         return behind({"select inbox.forget_events('test', array_agg(shard_id), array_agg(\"offset\"), "
                        "array_agg(received_at)) from (select * from inbox.event where shard_id = " + shard(place) +
                        " and \"offset\" between 0 and 14 order by \"offset\" desc) e"});
       }},
      {"trim_old_rows",
       [](int /*place*/) { return Steps{{statements::trim_old_rows.sql, {"0", "0", "100"}}}; },
       false, true},
      {"delete pending of a retired handler",
       [this](int /*place*/) {
         return Steps{{"update inbox.handler set retired_at = now() where handler_id = " + handler_},
                      {statements::op_handler_delete_pending.sql, {handler_, "100"}}};
       },
       false, true},
  };
}

std::vector<Writer> State::registering() {
  return {
      {"change_order",
       [this](int /*place*/) {
         return Steps{{statements::lock_routing.sql},
                      {statements::next_routing_version.sql},
                      {statements::change_order.sql, {handler_, "sequential", "handler", "false"}},
                      {"update inbox.handler set order_scope = 'handler' where handler_id = " + handler_}};
       }},
      {"change_order to batch",
       [this](int /*place*/) {
         return Steps{{statements::lock_routing.sql},
                      {statements::next_routing_version.sql},
                      {statements::change_order.sql, {single_, "batch", "handler", "false"}},
                      {"update inbox.handler set mode = 'batch', order_scope = 'handler' where handler_id = " +
                       single_}};
       }},
      {"delete_pending",
       [this](int /*place*/) {
         return Steps{{statements::lock_routing.sql},
                      {statements::next_routing_version.sql},
                      {statements::await_settlements.sql, {handler_}},
                      {statements::delete_pending.sql, {handler_}}};
       },
       false, true},
  };
}

std::vector<Writer> State::writers() {
  std::vector<Writer> out;
  for (auto part : {settling(), claiming(), operating(), registering(), storing(), sending()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  for (Writer& writer : out) {
    const std::string& name = writer.name;
    writer.is_of_owner = name.starts_with("settle") || name == "slice" || name == "release_leases" ||
                         (name.starts_with("relay_") && name != "relay_take");
  }
  return out;
}

}  // namespace inboxd::support::writers
