// `handlers backfill`, bite by bite as the daemons give it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "integration/operations/operation_runner.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using Catch::Matchers::ContainsSubstring;
using State = inbox::Fed::State;

namespace {

using Given = std::map<std::string, std::vector<std::string>>;

/// An inbox with events of two topics, and a handler that got none of them.
struct Backfill {
  explicit Backfill(const std::string& mode = "single", const std::string& scope = "partition") {
    for (int i = 0; i < 5; ++i) store(orders, 2, "Placed").store(payments, 2, "Paid");
    handler = inbox.add_handler("receipt");
    database().run("update inbox.handler set mode = $1, order_scope = $2", {mode, scope});
  }

  Backfill& store(std::int32_t shard, int events, const std::string& type = "Placed") {
    Batch batch{inbox};
    batch.at(shard, next[shard]).events(events, "{}", type).store(inbox.connection());
    next[shard] += events;
    return *this;
  }
  Database& database() { return inbox.database(); }

  operations::Answer ask(Given given = {}) {
    given["handler"] = {"receipt"};
    return OperationRunner{inbox}.run("handlers backfill", given);
  }
  inbox::Fed feed(std::int32_t bite = 64) { return inbox::feed_backfill(inbox.connection(), {handler}, {bite}); }
  /// Bites until the end, settled in turn; the offsets in the order of the bites.
  std::string run(Given given = {}) {
    const auto answer = ask(std::move(given));
    INFO(answer.message);
    CHECK(answer.code == ExitCode::done);
    return feed_all();
  }
  std::string feed_all(std::int32_t bite = 64) {
    std::string out;
    for (;;) {
      const auto fed = feed(bite);
      if (fed.state == State::none) return out;
      REQUIRE(fed.state != State::waits);
      if (const std::string got = settle_all(); !got.empty()) out += (out.empty() ? "" : " ") + got;
    }
  }
  /// Records everything pending as done; returns its places in the order of the rows.
  std::string settle_all() {
    const auto out = database().text(
        "select coalesce(string_agg(s.topic || d.pending, ' ' order by d.delivery_id), '') from inbox.delivery d "
        "join inbox.shard s using (shard_id)");
    database().run(
        "with gone as (delete from inbox.delivery returning *) insert into inbox.outcome (handler_id, shard_id, "
        "offsets, outcome, attempts) select handler_id, shard_id, pending, 'done', 1 from gone");
    return out;
  }
  std::int64_t pending() { return database().number("select coalesce(sum(events), 0) from inbox.delivery"); }
  std::string received(std::int32_t shard, int offset) {
    return database().text(
        "select to_char(received_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') from "
        "inbox.event where shard_id = $1::int and \"offset\" = $2::bigint",
        {std::to_string(shard), std::to_string(offset)});
  }

  Inbox inbox;
  std::int32_t orders = inbox.add_shard("orders");
  std::int32_t payments = inbox.add_shard("payments");
  std::int32_t handler = 0;
  std::map<std::int32_t, std::int64_t> next;
};

}  // namespace

TEST_CASE("a back-fill delivers the stored events of a range, a topic or a type") {
  Backfill test;
  SECTION("everything") { CHECK(test.run() == "orders{[0,10)} payments{[0,10)}"); }
  SECTION("a topic") { CHECK(test.run({{"topic", {"pay*"}}}) == "payments{[0,10)}"); }
  SECTION("a type") { CHECK(test.run({{"type", {"Placed"}}}) == "orders{[0,10)}"); }
  SECTION("a range: --from inclusive, --to exclusive") {
    CHECK(test.run({{"from", {test.received(test.orders, 2)}}, {"to", {test.received(test.payments, 4)}}}) ==
          "orders{[2,6)} payments{[2,4)}");
  }
  SECTION("of its subscription") {
    test.database().run("update inbox.handler set types = '{Paid}'");
    CHECK(test.run() == "payments{[0,10)}");
  }
  SECTION("nothing") { CHECK(test.ask({{"topic", {"nobody-has-this"}}}).code == ExitCode::no); }
  CHECK(test.pending() == 0);
}

TEST_CASE("a back-fill delivers no event twice, unless --again says so") {
  Backfill test;
  test.run({{"topic", {"orders"}}});
  CHECK(test.run() == "payments{[0,10)}");
  CHECK(test.run().empty());
  CHECK(test.run({{"again", {"true"}}}) == "orders{[0,10)} payments{[0,10)}");

  // Pending events are passed over even then.
  test.ask({{"again", {"true"}}, {"topic", {"orders"}}});
  CHECK(test.feed().events == 10);
  test.database().run(
      "update inbox.delivery set owner = gen_random_uuid(), fence = 1, due_at = now() + interval '1 h'");
  CHECK(test.feed().state == State::ended);
  test.ask({{"again", {"true"}}});
  CHECK(test.feed(1'000).events == 10);
  CHECK(test.pending() == 20);
}

TEST_CASE("a back-filled event whose id then comes on another topic of the handler is not delivered again") {
  Inbox inbox;
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit");
  const auto handler = inbox.add_handler("receipt", {"audit"});
  const auto id = base::random_uuid();
  Batch{inbox}.at(orders, 0).event(id).store(inbox.connection());
  REQUIRE(inbox.add_handler("receipt", {"orders", "audit"}) == handler);
  const bool is_backfilled = GENERATE(true, false);
  const bool is_settled = GENERATE(true, false);
  auto& database = inbox.database();
  if (is_backfilled) {
    CHECK(OperationRunner{inbox}.run("handlers backfill", {{"handler", {"receipt"}}}).code == ExitCode::done);
    CHECK(inbox::feed_backfill(inbox.connection(), {handler}, {64}).events == 1);
  }
  if (is_settled) {
    database.run(
        "insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts) "
        "select handler_id, shard_id, pending, 'done', 1 from inbox.delivery");
    database.run("delete from inbox.delivery");
  }
  const auto before = database.number("select count(*) from inbox.delivery");
  CHECK(Batch{inbox}.at(audit, 0).event(id).store(inbox.connection()).duplicates == 1);
  CHECK(database.number("select count(*) from inbox.delivery") == (is_backfilled ? before : 1));
}

TEST_CASE("a back-fill passes dead letters over; --again deletes them, except dead letters that park their key") {
  Backfill test;
  const auto bury = [&](int offset, const std::string& state, bool parks) {
    test.database().run(
        "insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, received_at, attempts, "
        "reasons, state, sequence, lane, parks) select $1::int, event_id, shard_id, \"offset\", event_type, "
        "received_at, 1, '[]', $4, shard_id, 7, $5::boolean from inbox.event where shard_id = $2::int and "
        "\"offset\" = $3::bigint",
        {std::to_string(test.handler), std::to_string(test.orders), std::to_string(offset), state,
         parks ? "true" : "false"});
  };
  bury(1, "dead", false);
  bury(2, "dead", true);
  bury(3, "parked", false);
  CHECK(test.run({{"topic", {"orders"}}}) == "orders{[0,1),[4,10)}");
  CHECK(test.database().number("select count(*) from inbox.dead_letter") == 3);
  CHECK(test.run({{"topic", {"orders"}}, {"again", {"true"}}}) == "orders{[0,2),[4,10)}");
  CHECK(test.database().number("select count(*) from inbox.dead_letter") == 2);
  CHECK(test.database().number("select deleted_letters from inbox.backfill_request") == 1);
}

TEST_CASE("a back-fill comes in bites, each once the handler has nearly ended the last") {
  Backfill test;
  test.store(test.orders, 290);
  test.ask({{"topic", {"orders"}}});
  const auto first = test.feed();
  CHECK(first.state == State::fed);
  CHECK(first.events == 64);
  CHECK(first.handler_id == test.handler);
  CHECK(test.feed().state == State::waits);
  CHECK(test.pending() == 64);
  CHECK(test.settle_all() == "orders{[0,64)}");
  CHECK(test.feed_all(128) == "orders{[64,192)} orders{[192,300)}");
}

TEST_CASE("live events come before a back-fill") {
  Backfill test;
  Batch live{test.inbox};
  live.at(test.orders, 10).events(100).deliver_to(test.handler).store(test.inbox.connection());
  test.ask();
  CHECK(test.feed().state == State::waits);
  test.settle_all();
  CHECK(test.feed().events == 20);
}

TEST_CASE("--rate limits a back-fill") {
  Backfill test;
  test.store(test.orders, 90);
  test.ask({{"topic", {"orders"}}, {"rate", {"10"}}});
  test.database().run("update inbox.backfill_request set spent_until = now() - interval '1 h'");
  CHECK(test.feed().events == 5);  // half a second's worth
  test.settle_all();
  // The next token is a second away, also for a busy machine.
  test.database().run("update inbox.backfill_request set rate = 1");
  const auto fed = test.feed();
  CHECK(fed.state == State::waits);
  CHECK(fed.wait.count() > 0);
  CHECK(fed.wait.count() <= 1'001);
  // The database's clock was turned back.
  test.database().run("update inbox.backfill_request set rate = 10, spent_until = now() + interval '1 h'");
  CHECK(test.feed().events == 5);
}

TEST_CASE("a bite that is rolled back, and two bites at once, deliver each event once") {
  Backfill test;
  test.ask();
  const auto other = test.inbox.connect();
  Session session{test.database().url(), test.database().schema()};
  session.run("begin");
  session.run("select 1 from inbox.backfill_request for update");
  CHECK(inbox::feed_backfill(*other, {test.handler}, {64}).state == State::waits);
  session.run("rollback");
  CHECK(test.feed().events == 20);
  CHECK(inbox::feed_backfill(*other, {test.handler}, {64}).state == State::waits);
  CHECK(test.pending() == 20);
}

TEST_CASE("in a sequence of all partitions, a back-fill keeps the order of storing") {
  Backfill test{"sequential", "handler"};
  const std::string expected =
      "orders{[0,2)} payments{[0,2)} orders{[2,4)} payments{[2,4)} orders{[4,6)} payments{[4,6)} orders{[6,8)} "
      "payments{[6,8)} orders{[8,10)} payments{[8,10)}";
  SECTION("in one bite") { CHECK(test.run() == expected); }
  SECTION("in several") {
    test.ask();
    const auto got = test.feed_all(3);
    CHECK_THAT(got, ContainsSubstring("orders{[0,2)} payments{[0,1)} payments{[1,2)} orders{[2,4)}"));
  }
}

TEST_CASE("in a sequence, back-filled events come after the pending events") {
  Backfill test{"sequential"};
  Batch live{test.inbox};
  live.at(test.orders, 10).events(1).deliver_to(test.handler);
  live.get().runs.back().sequence = test.orders;
  live.store(test.inbox.connection());
  test.ask({{"topic", {"orders"}}});
  CHECK(test.feed().events == 10);
  CHECK(test.settle_all() == "orders{[10,11)} orders{[0,10)}");
}

TEST_CASE("a request is refused while another runs, and can be cancelled") {
  Backfill test;
  test.store(test.orders, 290);
  CHECK(test.ask({{"dry-run", {"true"}}}).document.at("offsets") == 310);
  CHECK(test.feed().state == State::none);
  CHECK(test.ask().document.at("state") == "running");
  test.feed();
  test.settle_all();
  const auto refused = test.ask();
  CHECK(refused.code == ExitCode::no);
  CHECK_THAT(refused.message, ContainsSubstring("a back-fill of receipt runs"));

  const auto cancelled = test.ask({{"cancel", {"true"}}});
  CHECK(cancelled.code == ExitCode::done);
  CHECK(cancelled.document.at("state") == "cancelled");
  CHECK(cancelled.document.at("events") == 64);
  CHECK(test.feed().state == State::ended);
  CHECK(test.feed().state == State::none);
  CHECK(test.ask({{"cancel", {"true"}}}).code == ExitCode::no);
  CHECK(test.database().text("select string_agg(operation || ' ' || target, ', ' order by audit_id) from inbox.audit "
                             "where operation like 'handlers backfill%'") ==
        "handlers backfill receipt, handlers backfill --cancel receipt");
  CHECK(test.ask().code == ExitCode::done);
}

TEST_CASE("a back-fill of an unknown or retired handler is refused, and a retirement ends it") {
  Backfill test;
  CHECK_THAT(OperationRunner{test.inbox}.run("handlers backfill", {{"handler", {"receit"}}}).message,
             ContainsSubstring("did you mean \"receipt\"?"));
  test.ask();
  OperationRunner{test.inbox}.run("handlers retire", {{"handler", {"receipt"}}});
  CHECK(test.database().number("select count(*) from inbox.backfill_range") == 0);
  CHECK(test.feed().state == State::none);
  CHECK_THAT(test.ask().message, ContainsSubstring("receipt is retired; `inboxd handlers restore receipt`"));
}

TEST_CASE("a batch handler gets back-filled events in its next window") {
  Backfill test{"batch"};
  test.ask();
  CHECK(test.feed().events == 20);
  CHECK(test.database().number("select count(*) from inbox.delivery where sequence = 0 and due_at = 'infinity'") > 0);
  CHECK(test.feed().state == State::ended);
}
