#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "integration/transaction/handler_transaction_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using Kind = transaction::CommitEnd::Kind;
using transaction::SqlType;
using transaction::SqlValue;

namespace {

constexpr std::int64_t moment = 1'700'000'000'123'456;
const std::string uuid_bytes{"\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12\x34\x56\x78\x9a\xbc\xde\xf0", 16};

SqlValue value(SqlType type, std::string_view bytes) { return {type, 0, 0, bytes}; }

/// Since the last reset; includes the address sanitizer's memory.
std::int64_t peak_memory_kb() {
#ifdef __SANITIZE_ADDRESS__
  return 0;
#endif
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  }
  return 0;
}

}  // namespace

TEST_CASE("parameters and fields of every type round-trip, with and without prepared statements") {
  const bool prepare = GENERATE(true, false);
  CAPTURE(prepare);
  HandlerTransactionFixture fixture{1, "{}", [&](config::Database& settings) { settings.prepare = prepare; }};
  fixture.begin(0, 1);
  const std::string raw{"\0\xff", 2};
  // A numeric column makes the server send all columns as text.
  const std::string more = GENERATE("", ", 12.50::numeric");
  const auto result = fixture.execute(
      "select $1::bool, $2::int8, $3::int4, $4::int2, $5::float8, $6::text, $7::bytea, $8::uuid, $9::timestamptz,"
      " $10::jsonb, $11::text" +
          more,
      {{SqlType::boolean, 1, 0, {}},
       number_value(-5'000'000'000),
       number_value(70'000),
       number_value(-3),
       {SqlType::float8, 0, 2.5, {}},
       text_value("täxt"),
       value(SqlType::bytea, raw),
       value(SqlType::uuid, uuid_bytes),
       {SqlType::timestamptz, moment, 0, {}},
       value(SqlType::json, "{\"a\": 1}"),
       {}});
  REQUIRE(!result->error);
  REQUIRE(result->rows == 1);
  CHECK(result->value(0, 0).integer == 1);
  CHECK(result->value(0, 1).integer == -5'000'000'000);
  CHECK(result->value(0, 2).integer == 70'000);
  CHECK(result->value(0, 3).integer == -3);
  CHECK(result->value(0, 4).number == 2.5);
  CHECK(result->value(0, 5).bytes == "täxt");
  CHECK(result->value(0, 6).bytes == raw);
  CHECK(result->value(0, 7).type == SqlType::uuid);
  CHECK(result->value(0, 7).bytes == uuid_bytes);
  CHECK(result->value(0, 8).type == SqlType::timestamptz);
  CHECK(result->value(0, 8).integer == moment);
  CHECK(result->value(0, 9).type == SqlType::json);
  CHECK(result->value(0, 9).bytes == "{\"a\": 1}");
  CHECK(result->value(0, 10).type == SqlType::null);
  if (!more.empty()) CHECK(result->value(0, 11).bytes == "12.50");
  CHECK(result->value(1, 0).type == SqlType::null);
  fixture.transaction->roll_back();
}

TEST_CASE("a value is converted to its parameter's type, or refused") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  const auto id = base::random_uuid().text();
  const auto good = fixture.execute(
      "select $1::numeric = 7, $2::uuid, $3::timestamptz at time zone 'UTC' = '2023-11-14 22:13:20.123456',"
      " $4::text, $5::bytea, $6::float8",
      {number_value(7),
       text_value(id),
       {SqlType::timestamptz, moment, 0, {}},
       value(SqlType::uuid, uuid_bytes),
       text_value("a\\b"),
       number_value(3)});
  REQUIRE(!good->error);
  CHECK(good->value(0, 0).integer == 1);
  CHECK(good->value(0, 2).integer == 1);
  CHECK(good->value(0, 3).bytes == "12345678-9abc-def0-1234-56789abcdef0");
  CHECK(good->value(0, 4).bytes == "a\\b");
  CHECK(good->value(0, 5).number == 3.0);

  const auto point = fixture.transaction->savepoint();
  CHECK(fixture.execute("select $1::int4", {number_value(5'000'000'000)})->error->sqlstate == "22003");
  fixture.transaction->rollback_to(point);
  const auto zero = fixture.transaction->savepoint();
  CHECK(fixture.execute("select $1::numeric", {text_value({"1\0", 2})})->error->sqlstate == "22021");
  fixture.transaction->rollback_to(zero);
  const auto count = fixture.transaction->savepoint();
  CHECK(fixture.execute("select $1::text", {text_value("a"), text_value("b")})->error->sqlstate == "08P01");
  fixture.transaction->rollback_to(count);
  CHECK(!fixture.execute("select 1")->error);
  fixture.transaction->roll_back();
}

TEST_CASE("an error names its position, constraint and table") {
  HandlerTransactionFixture fixture{1};
  fixture.inbox.database().run("create table " + fixture.app + ".receipt (id int constraint positive check (id > 0))");
  fixture.begin(0, 1);
  const auto wrong = fixture.execute("insert into receipt values ($1)", {number_value(-1)});
  REQUIRE(wrong->error);
  CHECK(wrong->error->sqlstate == "23514");
  CHECK(wrong->error->constraint == "positive");
  CHECK(wrong->error->table == "receipt");
  CHECK(wrong->error->schema == fixture.app);
  CHECK(!wrong->error->will_repeat);
  fixture.transaction->roll_back();

  fixture.begin(0, 1);
  // Counted in characters, without the text that the daemon put before it.
  CHECK(fixture.execute("select 'ä', nowhere")->error->position == 13);
  fixture.transaction->roll_back();
  fixture.begin(0, 1);
  CHECK(fixture.with_events("select 'ä', nowhere from events")->error->position == 13);
  fixture.transaction->roll_back();
  fixture.begin(0, 1);
  CHECK(fixture.with_events("with x as (select 1) select nowhere from x, events")->error->position == 29);
  fixture.transaction->roll_back();
}

TEST_CASE("relation events holds the call's events in order, or a part of them, sent or read in place") {
  HandlerTransactionFixture fixture{20, "{\"order\": \"A-1\"}"};
  fixture.has_content = GENERATE(true, false);
  CAPTURE(fixture.has_content);
  fixture.begin(5, 15);
  const auto all = fixture.with_events(
      "select \"offset\", topic, partition, event_type, body->>'order', attempt, event_id from events");
  REQUIRE(!all->error);
  REQUIRE(all->rows == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(all->value(i, 0).integer == static_cast<std::int64_t>(5 + i));
    CHECK(all->value(i, 1).bytes == "orders");
    CHECK(all->value(i, 3).bytes == "OrderPlaced");
    CHECK(all->value(i, 4).bytes == "A-1");
    CHECK(all->value(i, 5).integer == 1);
  }
  const auto some = fixture.with_events("with x as (select max(\"offset\") as m from events) select m, $1::text from x",
                                        2, 3, {text_value("own")});
  REQUIRE(!some->error);
  CHECK(some->value(0, 0).integer == 9);
  CHECK(some->value(0, 1).bytes == "own");
  CHECK(fixture.with_events("select from events", 3, 0)->rows == 0);
  CHECK(fixture.with_events("select from events")->rows == 10);
  for (const char* const sql :
       {"with recursive n(i) as (values (1) union all select i + 1 from n where i < 3) select i from n, events",
        "/* a comment */ (select 1 from events) union all select 2 from events",
        "values ((select count(*) from events))", "insert into note (id) select event_id from events returning id",
        "update note set text = 'x' where id in (select event_id from events)",
        "delete from note where id in (select event_id from events)"}) {
    CAPTURE(sql);
    const auto result = fixture.with_events(sql);
    CHECK(!result->error);
  }
  fixture.inbox.database().run("create function " + fixture.app +
                               ".take(inbox.message) returns text language sql as"
                               " 'select ($1).source_id || ($1).topic'");
  const auto calls = fixture.with_events("select take(events) from events");
  REQUIRE(!calls->error);
  CHECK(calls->rows == 10);
  fixture.transaction->roll_back();
}

TEST_CASE("sent events have the same columns as events read in place") {
  HandlerTransactionFixture fixture{3};
  fixture.inbox.database().run(
      "update inbox.event set source_id = 'id-' || \"offset\", source = '/shop', subject = 'täxt', key = 'k'::bytea,"
      " headers = decode('00000005', 'hex') || 'trace'::bytea || decode('00000002', 'hex') || 't1'::bytea,"
      " occurred_at = '2023-11-14 22:13:20.123456+00' where \"offset\" <> 1");
  fixture.inbox.database().run("update inbox.event set key = '\\xff', payload = null where \"offset\" = 1");
  fixture.inbox.database().run("update inbox.delivery set due_at = now() - interval '1 s', claims = 0");
  fixture.claim();
  const auto seen = [&](bool sent) {
    fixture.has_content = sent;
    fixture.begin(0, 3);
    const auto result = fixture.with_events("select e::text from events e");
    REQUIRE(!result->error);
    REQUIRE(result->rows == 3);
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < 3; ++i) rows.emplace_back(result->value(i, 0).bytes);
    fixture.transaction->roll_back();
    return rows;
  };
  const auto sent = seen(true);
  CHECK(sent == seen(false));
  CHECK_THAT(sent[0], ContainsSubstring("id-0") && ContainsSubstring("trace") && ContainsSubstring("täxt"));
}

TEST_CASE("a payload that is not valid JSON for PostgreSQL has a null body and is no error") {
  const std::string payload = GENERATE(as<std::string>{}, "no json", "", "{\"a\": \"\\u0000\"}", "\"\\ud800\"",
                                       "1e1000000", "\xff\xfe", std::string(100'000, '['));
  HandlerTransactionFixture fixture{2, payload};
  fixture.has_content = GENERATE(true, false);
  fixture.begin(0, 2);
  const auto result = fixture.with_events("select body is null, payload is not null, length(payload) from events");
  REQUIRE(!result->error);
  REQUIRE(result->rows == 2);
  CHECK(result->value(1, 0).integer == 1);
  CHECK(result->value(1, 2).integer == static_cast<std::int64_t>(payload.size()));
  CHECK(!fixture.transaction->end_call().unhandled_error);
  fixture.transaction->roll_back();
}

TEST_CASE(
    "where JSON is required, a payload that is not JSON fails its statement with its own SQLSTATE and the reason") {
  const bool is_sent = GENERATE(true, false);
  const auto [payload, reason] = GENERATE(table<std::string, std::string>({{"no json", "22P02"},
                                                                           {"{\"a\": \"\\u0000\"}", "22P05"},
                                                                           {"1e1000000", "22003"},
                                                                           {"\xff\xfe", "22021"},
                                                                           {std::string(100'000, '['), "54001"}}));
  HandlerTransactionFixture fixture{2, payload};
  fixture.has_content = is_sent;
  const auto run = [&](const std::string& sql) {
    fixture.begin(0, 2);
    auto result = fixture.transaction->execute({sql, {}, true, 0, 2, true});
    fixture.transaction->end_call();
    fixture.transaction->roll_back();
    return result;
  };
  const auto result = run("select body is null from events");
  REQUIRE(result->error);
  CHECK(result->error->sqlstate == "IJ001");
  CHECK(result->error->detail == reason);
  CHECK(!result->error->not_run);
  CHECK(!run("select length(payload) from events")->error);
}

TEST_CASE("a tombstone's body is null, even where JSON is required") {
  HandlerTransactionFixture fixture{1};
  fixture.has_content = false;
  fixture.inbox.database().run("update inbox.event set payload = null");
  fixture.begin(0, 1);
  const auto result = fixture.transaction->execute({"select body is null from events", {}, true, 0, 1, true});
  REQUIRE(!result->error);
  CHECK(result->value(0, 0).integer == 1);
  fixture.transaction->roll_back();
}

TEST_CASE("a payload among many that is not JSON runs its statement a second time, with each row written once") {
  HandlerTransactionFixture fixture{100};
  fixture.has_content = false;
  fixture.inbox.database().run("update inbox.event set payload = 'no json' where \"offset\" = 70");
  const std::string insert = "insert into note select event_id, body->>'order', nextval('tries') from events";
  fixture.inbox.database().run("create sequence " + fixture.app + ".tries");
  fixture.begin(0, 100, GENERATE(true, false));
  const auto result = fixture.with_events(insert);
  REQUIRE(!result->error);
  CHECK(result->affected == 100);
  REQUIRE(!fixture.with_events(insert)->error);  // tolerates such payloads at once
  CHECK(!fixture.transaction->end_call().unhandled_error);
  REQUIRE(fixture.commit_all().kind == transaction::CommitEnd::Kind::committed);
  CHECK(fixture.notes() == 200);
  CHECK(fixture.notes("text is null") == 2);
  CHECK(fixture.notes("number = 1") == 0);  // the first try is undone
  CHECK(fixture.inbox.database().number("select last_value - 200 from " + fixture.app + ".tries") == 70);
}

TEST_CASE("a payload may hold 8 MB of JSON") {
  const std::string large = "{\"text\": \"" + std::string(8 << 20, 'x') + "\"}";
  HandlerTransactionFixture fixture{1, large};
  fixture.begin(0, 1);
  const auto result = fixture.with_events("select length(body->>'text') from events");
  REQUIRE(!result->error);
  CHECK(result->value(0, 0).integer == 8 << 20);
  fixture.transaction->roll_back();
}

TEST_CASE("a statement that runs past the call's deadline is ended by the server") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1, true, milliseconds{3'000});  // connecting takes less than half of it
  const auto began = std::chrono::steady_clock::now();
  const auto result = fixture.execute("select pg_sleep(20)");
  REQUIRE(result->error);
  CHECK(result->error->sqlstate == "57014");
  CHECK(!result->error->will_repeat);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{15});
  CHECK(fixture.transaction->end_call().unhandled_error->sqlstate == "57014");
}

TEST_CASE("no statement may take longer than its call has left") {
  HandlerTransactionFixture fixture{2};
  const auto allowed = [&] {
    const auto result = fixture.execute("select setting::bigint from pg_settings where name = 'statement_timeout'");
    REQUIRE(!result->error);
    return result->value(0, 0).integer;
  };
  fixture.begin(0, 1, false, milliseconds{20'000});
  CHECK(allowed() <= 20'000);
  REQUIRE(!fixture.execute("select pg_sleep(0.1)")->error);
  CHECK(allowed() <= 19'900);
  fixture.transaction->end_call();
  fixture.begin(1, 2, false, milliseconds{60'000});
  CHECK(allowed() > 20'000);
  fixture.transaction->roll_back();
}

TEST_CASE("a stalled process holds its locks no longer than its call and ten seconds") {
  HandlerTransactionFixture fixture{2};
  fixture.begin(0, 1, false, milliseconds{20'000});
  const auto allowed =
      fixture.execute("select setting::bigint from pg_settings where name = 'idle_in_transaction_session_timeout'");
  REQUIRE(!allowed->error);
  CHECK(allowed->value(0, 0).integer > 20'000);
  CHECK(allowed->value(0, 0).integer <= 30'000);
  fixture.transaction->roll_back();
}

TEST_CASE("results larger than database.result_bytes fail their event alone and are not kept in memory") {
  HandlerTransactionFixture fixture{2, "{}", [&](config::Database& settings) { settings.result_bytes = 1 << 20; }};
  fixture.begin(0, 1, false);
  const auto many = fixture.execute("select i, nullif(i, 7)::text from generate_series(1, 10000) i");
  REQUIRE(!many->error);
  REQUIRE(many->rows == 10'000);
  CHECK(many->value(9'999, 0).integer == 10'000);
  CHECK(many->value(9'999, 1).bytes == "10000");
  CHECK(many->value(6, 1).type == SqlType::null);
  CHECK(fixture.execute("insert into note select null, 'kept', 1")->affected == 1);
  CHECK(!fixture.transaction->end_call().unhandled_error);

  fixture.begin(1, 2, false, milliseconds{60'000});
  std::ofstream{"/proc/self/clear_refs"} << "5";  // resets the peak
  const std::int64_t before = peak_memory_kb();
  const auto large = fixture.execute(
      "insert into note select null, repeat('x', 1000), i "
      "from generate_series(1, 100000) i returning text");
  REQUIRE(large->error);
  CHECK(large->error->sqlstate == "54000");
  CHECK_THAT(large->error->message, ContainsSubstring("database.result_bytes"));
  CHECK(!large->error->will_repeat);
  CHECK(large->rows == 0);
  CHECK(peak_memory_kb() - before < 50'000);
  fixture.transaction->undo_call();
  CHECK(fixture.commit(fixture.done(0, 1)).kind == Kind::committed);
  CHECK(fixture.notes() == 1);
}

TEST_CASE("an outdated plan repeats the transaction, which then works") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("select * from note")->error);
  fixture.transaction->roll_back();
  fixture.inbox.database().run("alter table " + fixture.app + ".note add more int");
  fixture.begin(0, 1);
  const auto stale = fixture.execute("select * from note");
  REQUIRE(stale->error);
  CHECK(stale->error->will_repeat);
  fixture.transaction->end_call();
  fixture.transaction->roll_back();
  fixture.begin(0, 1);
  const auto fresh = fixture.execute("select * from note");
  REQUIRE(!fresh->error);
  CHECK(fresh->columns.size() == 4);
  fixture.transaction->roll_back();
}

TEST_CASE("a missing right repeats the transaction once, as a stale plan may; then it is the row's error") {
  HandlerTransactionFixture fixture{2};
  fixture.inbox.database().run("create function " + fixture.app +
                               ".guard(place bigint) returns void language plpgsql as $$ "
                               "begin if place = 1 then raise 'not this one' using errcode = '42501'; end if; end $$");
  const std::string guards = "select guard(\"offset\") from events";
  fixture.begin(0, 2);
  REQUIRE(!fixture.with_events(guards, 0, 1)->error);
  fixture.transaction->end_call();
  fixture.transaction->roll_back();
  fixture.begin(0, 2);
  CHECK(fixture.with_events(guards)->error->will_repeat);
  fixture.transaction->end_call();
  fixture.transaction->roll_back();
  fixture.begin(0, 2);
  const auto all = fixture.transaction->savepoint();
  CHECK(!fixture.with_events(guards)->error->will_repeat);
  fixture.transaction->rollback_to(all);
  CHECK(!fixture.with_events(guards, 0, 1)->error);
  const auto half = fixture.transaction->savepoint();
  const auto culprit = fixture.with_events(guards, 1, 1);
  REQUIRE(culprit->error);
  CHECK(culprit->error->sqlstate == "42501");
  CHECK(!culprit->error->will_repeat);
  fixture.transaction->rollback_to(half);
  const auto known =
      fixture.execute("select count(*) from pg_prepared_statements where statement like $1", {text_value("%guard(%")});
  REQUIRE(!known->error);
  CHECK(known->value(0, 0).integer == 1);
  fixture.transaction->roll_back();
}

// fault: out of memory on the server
TEST_CASE("out of memory repeats the transaction of a single event; with several events, fewer are tried") {
  HandlerTransactionFixture fixture{3};
  fixture.inbox.database().run("create function " + fixture.app +
                               ".hungry() returns int language plpgsql as $$ begin "
                               "raise 'no memory' using errcode = '53200'; end $$");
  const std::string hungry = "select hungry()";
  const auto repeats = [&](const HandlerTransactionFixture::Result& result) {
    REQUIRE(result->error);
    CHECK(result->error->sqlstate == "53200");
    const bool repeated = fixture.transaction->end_call().must_repeat;
    CHECK(repeated == result->error->will_repeat);
    fixture.transaction->roll_back();
    return repeated;
  };
  fixture.begin(0, 1);
  CHECK(repeats(fixture.execute(hungry)));
  fixture.begin(0, 3);
  CHECK(!repeats(fixture.execute(hungry)));
  fixture.begin(0, 3);
  CHECK(!repeats(fixture.with_events(hungry + " from events", 0, 2)));
  fixture.begin(0, 3);
  CHECK(repeats(fixture.with_events(hungry + " from events", 2, 1)));
  fixture.defer("perform hungry();");
  fixture.begin(0, 3);
  REQUIRE(!fixture.execute("insert into note (number) values (1)")->error);
  fixture.transaction->end_call();
  CHECK(fixture.commit_all().kind == Kind::repeat);
}
