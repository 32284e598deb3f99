#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <sstream>

#include "event/headers.hpp"
#include "integration/support/inbox.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::string missing(Inbox& inbox, const std::string& view, const std::vector<std::string>& promised) {
  const auto there = inbox.database().session().columns("select * from inbox." + view + " limit 0");
  std::string out;
  for (const std::string& column : promised) {
    if (std::find(there.begin(), there.end(), column) == there.end()) out += view + "." + column + " ";
  }
  return out;
}

/// The row of this table in the document's table of tables, or the row that mentions it.
std::string row_of(const std::string& document, const std::string& table) {
  std::istringstream lines{document};
  for (std::string line; std::getline(lines, line);) {
    const auto first_cell = line.substr(0, line.find('|', 1));
    if (first_cell.find("`" + table + "`") != first_cell.npos && line.starts_with("| ")) return line;
  }
  return "";
}

}  // namespace

TEST_CASE("every promised column of every view is there") {
  Inbox inbox;
  CHECK(missing(inbox, "events",
                {"event_id", "source_id", "topic", "partition", "offset", "event_type", "source", "subject", "key",
                 "payload", "headers", "occurred_at", "received_at"}) == "");
  CHECK(missing(inbox, "deliveries",
                {"event_id", "handler", "state", "attempts", "due_at", "last_error", "finished_at"}) == "");
  CHECK(missing(inbox, "failures",
                {"event_id", "handler", "attempt", "occurred_at", "error_class", "message", "duration"}) == "");
  CHECK(missing(inbox, "backlog", {"handler", "due", "leased", "retrying", "waiting", "dead", "oldest_due_age"}) == "");
  CHECK(missing(inbox, "lag",
                {"topic", "partition", "position", "high_watermark", "lag", "observed_at", "halted_reason"}) == "");
  CHECK(missing(inbox, "lanes",
                {"handler", "key", "key_text", "state", "waiting", "head_event_id", "attempts", "due_at",
                 "last_error"}) == "");
  CHECK(missing(inbox, "dead_letters", {"event_id", "handler"}) == "");
  CHECK(missing(inbox, "quarantined", {"topic", "partition", "offset", "reason"}) == "");
  CHECK(missing(inbox, "audit_log", {"occurred_at", "actor", "operation", "target", "detail"}) == "");
}

TEST_CASE("the document of the tables names every index") {
  Inbox inbox;
  const std::string document = read_file("sql/README.md");
  const auto indexes = inbox.database().rows(
      "select c.relname, case when i.indisprimary then 'primary key' end, "
      "replace(substring(regexp_replace(pg_get_indexdef(i.indexrelid), ' WHERE .*$', '') from '\\((.*)\\)$'), "
      "'\"', '') "
      "from pg_index i join pg_class c on c.oid = i.indrelid "
      "where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition",
      {inbox.database().schema()});
  CHECK(indexes.size() > 20);
  for (const auto& index : indexes) {
    const auto row = row_of(document, index[0].value());
    CAPTURE(index[0].value(), index[2].value(), row);
    CHECK((row.find(index[2].value()) != row.npos || (index[1] && row.find(*index[1]) != row.npos)));
  }
}

TEST_CASE("the promised types hold") {
  Inbox inbox;
  CHECK(inbox.database().text(
            "select string_agg(c || '=' || format_type(atttypid, null), ' ' order by c) from (select a.attname as c, "
            "a.atttypid from pg_attribute a where attrelid = 'inbox.events'::regclass and attname in ('event_id', "
            "'source_id', 'key', 'payload', 'headers')) x") ==
        "event_id=uuid headers=jsonb key=bytea payload=bytea source_id=text");
  CHECK(inbox.database().text("select format_type(atttypid, null) from pg_attribute where attrelid = "
                              "'inbox.backlog'::regclass and attname = 'oldest_due_age'") == "interval");
}

TEST_CASE("the backlog counts events, not rows") {
  Inbox inbox;
  const auto one = inbox.add_handler("one");
  const auto two = inbox.add_handler("two");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(100).deliver_to(one).deliver_to(two, milliseconds{60'000});
  batch.store(inbox.connection());
  CHECK(inbox.database().text(
            "select string_agg(handler || ' ' || due || ' ' || leased || ' ' || retrying || ' ' || dead,"
            " ', ' order by handler) from inbox.backlog") == "one 100 0 0 0, two 0 100 0 0");
  CHECK(inbox.database().number("select count(*) from inbox.backlog where oldest_due_age > interval '0'") == 1);
  CHECK(inbox.pending_events() == 200);
}

TEST_CASE("the autoscaler's query returns a handler's due events, and 0 while it is paused") {
  Inbox inbox;
  const std::string document = read_file("sql/README.md");
  const std::string before = "\n      query: \"";
  const auto begin = document.find(before) + before.size();
  REQUIRE(begin > before.size());
  const std::string query = document.substr(begin, document.find("\"\n", begin) - begin);
  CHECK(inbox.database().number(query) == 0);  // a row even for an unknown handler
  const auto receipt = inbox.add_handler("receipt");
  const auto other = inbox.add_handler("other");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(7).deliver_to(receipt).deliver_to(other);
  batch.store(inbox.connection());
  CHECK(inbox.database().number(query) == 7);
  inbox.database().run("update inbox.handler set paused_reason = 'a fuse' where name = 'receipt'");
  CHECK(inbox.database().number(query) == 0);
}

TEST_CASE("the lag is the broker's last end minus the position") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 40);
  inbox::record_watermarks(inbox.connection(), {{shard, 100}});
  CHECK(inbox.database().text(
            "select topic || ' ' || partition || ' ' || position || ' ' || high_watermark || ' ' || lag "
            "from inbox.lag") == "orders 0 40 100 60");
}

TEST_CASE("the deliveries of an event are found by its id without reading everything") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  base::Uuid wanted;
  for (int i = 0; i < 20; ++i) {
    Batch batch{inbox};
    batch.at(shard, i * 1000).events(1000).deliver_to(handler);
    batch.store(inbox.connection());
    if (i == 7) wanted = batch.events()[500].event_id;
  }
  auto& database = inbox.database();
  database.run("analyze inbox.event; analyze inbox.ledger; analyze inbox.delivery");
  const auto rows = database.rows(
      "explain (analyze, buffers, costs off, timing off, summary off) select * from "
      "inbox.deliveries where event_id = '" +
      wanted.text() + "'");
  CHECK(rows.at(0).at(0)->find("rows=1 ") != std::string::npos);
  const auto buffers = blocks_read(rows);
  WARN("buffers read to find the deliveries of one of 20000 events: " << buffers);
  CHECK(buffers < 200);  // those of the catalog vary
}

TEST_CASE("hostile headers are shown as far as possible, in a parallel plan, too") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  using namespace std::string_view_literals;
  const auto shown = [&](const std::vector<event::Header>& headers) {
    Batch batch{inbox};
    batch.at(shard, inbox.position("orders")).events(1);
    const std::string packed = event::pack_headers(headers);
    batch.get().events[0].headers = packed;
    batch.store(inbox.connection());
    return inbox.database().text("select headers from inbox.events order by \"offset\" desc limit 1");
  };
  // In a parallel plan, a function that catches errors would fail.
  inbox.database().run(
      "set min_parallel_table_scan_size = 0; set parallel_setup_cost = 0; "
      "set parallel_tuple_cost = 0; do $$ begin execute format('set %I = on', (select name from "
      "pg_settings where name in ('force_parallel_mode', 'debug_parallel_query'))); end $$");
  CHECK(shown({{"a", "1"}, {"n", std::nullopt}, {"a", "2"}, {"empty", ""}}) == R"({"a": "2", "n": null, "empty": ""})");
  CHECK(shown({{"x", "\xFF"sv}, {"y", "a\0b"sv}, {"\xC0\x80"sv, "z"}}) ==
        R"({"x": {"base64": "/w=="}, "y": {"base64": "YQBi"}, "base64:wIA=": "z"})");
  CHECK(shown({{"k", "\u00e9\u20ac\U0001f600"}}) == "{\"k\": \"\u00e9\u20ac\U0001f600\"}");
  for (const auto bad : {"\xED\xA0\x80"sv, "\xF4\x90\x80\x80"sv, "\xE0\x80\x80"sv, "\xF0\x8F\xBF\xBF"sv, "\xC1\xBF"sv,
                         "\xF5\x80\x80\x80"sv, "\x80"sv, "\xE2\x82"sv}) {
    CHECK(shown({{"k", bad}}).find("base64") != std::string::npos);
  }
  std::vector<std::string> names;
  std::vector<event::Header> many;
  for (int i = 0; i < 50'000; ++i) names.push_back("name-" + std::to_string(i));
  for (const auto& name : names) many.push_back({name, "value"});
  const auto began = std::chrono::steady_clock::now();
  shown(many);
  CHECK(inbox.database().number("select count(*) from (select jsonb_object_keys(headers) from inbox.events "
                                "where \"offset\" = (select max(\"offset\") from inbox.events)) x") == 10'001);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{5});
  CHECK(inbox.database().text("select headers->>'inboxd-headers-cut' || ' ' || (headers->>'name-49999') || ' ' || "
                              "coalesce(headers->>'name-39999', 'cut') from inbox.events "
                              "order by \"offset\" desc limit 1") ==
        "40000 value cut");
  std::vector<event::Header> repeated{{"id", "first"}};
  for (int i = 0; i < 1'100; ++i) repeated.push_back({"attempt", names[static_cast<std::size_t>(i)]});
  CHECK(shown(repeated) == R"({"id": "first", "attempt": "name-1099"})");
  // Truncated bytes, and wrong lengths.
  for (const auto* broken :
       {"'\\x0000000161'", "'\\x7fffffff61ffffffff'", "'\\x80000000'", "'\\x000000016100000009'"}) {
    inbox.database().run("select inbox.headers_of(" + std::string{broken} + "::bytea)");
  }
}

TEST_CASE("deliveries counts the states of events that were settled singly in seconds, without statistics") {
  Inbox inbox;
  const std::int32_t shard = inbox.add_shard("t");
  const std::int32_t handler = inbox.add_handler("h");
  Session& session = inbox.database().session();
  const auto run = [&](const std::string& sql) {
    session.run(sql, {std::to_string(shard), std::to_string(handler)});
  };
  session.run("insert into inbox.ledger select gen_random_uuid(), " + std::to_string(shard) +
              ", 1, i, 1, clock_timestamp() from generate_series(0, 99999) i");
  run("insert into inbox.outcome select $2::int, $1::int, int8multirange(int8range(i, i + 1)), 'done', 1, null, "
      "clock_timestamp() from generate_series(0, 79999) i");
  run("insert into inbox.outcome select $2::int, $1::int, int8multirange(int8range(i * 1000, i * 1000 + 400), "
      "int8range(i * 1000 + 600, i * 1000 + 1000)), 'skipped', 1, null, clock_timestamp() "
      "from generate_series(80, 89) i");
  run("insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to) "
      "select $2::int, $1::int, int8multirange(int8range(i, i + 1)), 1, now(), '-infinity', 'infinity' "
      "from generate_series(90000, 98999) i");
  run("insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to) "
      "select $2::int, $1::int, int8multirange(int8range(99000, 100000)), 1000, now(), '-infinity', 'infinity'");

  session.run("set statement_timeout = '60s'");  // pairs of events and outcomes would take hours
  CHECK(session.text("select string_agg(state || ' ' || n, ', ' order by state) from (select state, count(*) as n "
                     "from inbox.deliveries group by state) x") == "done 80000, due 10000, skipped 8000");
  CHECK(session.text("select string_agg(d.state, ',' order by l.\"offset\") from inbox.ledger l "
                     "join inbox.deliveries d using (event_id) where l.\"offset\" in (5, 80500, 89999, 99999)") ==
        "done,skipped,due");
}
