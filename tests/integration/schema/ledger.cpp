#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <thread>

#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Makes all rows of the ledger three days old, as if it had never been trimmed.
void make_ledger_old(Inbox& inbox) {
  inbox.database().run(
      "update inbox.ledger set received_at = current_date - 3; "
      "update inbox.ledger_trim set day = '-infinity', next_block = null");
}

constexpr std::int64_t ledger_rows = 1000;
constexpr std::int64_t max_per_block = 8192 / 44;  // by the size of its columns alone

void fill_ledger(Inbox& inbox, std::int64_t rows = ledger_rows) {
  inbox.database().run(
      "insert into inbox.ledger select gen_random_uuid(), 1, i, i, current_date - 3 from generate_series(1, $1::int) i",
      {std::to_string(rows)});
}

}  // namespace

TEST_CASE("old rows of ledger and position are deleted in steps, never the first and the newest position") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  inbox.database().run("insert into inbox.position select $1::int, 0, i, i + 1, 1 from generate_series(0, 2999) i",
                       {std::to_string(shard)});
  std::int64_t trimmed = 0;
  while (const auto step = inbox::trim_positions(inbox.connection(), 500)) {
    CHECK(step <= 500);
    trimmed += step;
  }
  CHECK(trimmed == 1999);
  CHECK(inbox.database().number("select next_offset from inbox.position where first_offset = -1") == 0);
  CHECK(inbox.position("orders") == 3000);

  Batch batch{inbox};
  batch.at(shard, 3000).events(10);
  batch.store(inbox.connection());
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 0);
  make_ledger_old(inbox);
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 10);
}

TEST_CASE("ids that a partition set back could read again are kept, and absorb the records") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(5).store(inbox.connection());
  make_ledger_old(inbox);
  inbox.database().run("insert into inbox.position values ($1::int, 1, -1, 2, 1)", {std::to_string(shard)});
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 2);

  Batch again{inbox};
  again.at(shard, 2, 1);
  for (const int i : {2, 3, 4}) again.event(batch.events()[static_cast<std::size_t>(i)].event_id);
  const auto result = again.store(inbox.connection());
  CHECK(result.duplicates == 3);
  CHECK(result.stored == 0);
  inbox.database().run("update inbox.ledger_trim set day = day - 1");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 3);
}

TEST_CASE("the ledger is trimmed once a day, in steps that any instance continues") {
  using namespace std::chrono_literals;
  Inbox inbox;
  fill_ledger(inbox);
  const auto blocks = inbox.database().number("select pg_relation_size('inbox.ledger') / 8192");
  REQUIRE(blocks > 4);
  const auto other = inbox.connect();
  std::int64_t rows = 0;
  int steps = 0;
  for (bool has_more = true; has_more; ++steps) {
    const auto step = inbox::trim_ledger(steps % 2 == 0 ? inbox.connection() : *other, 24h, 2);
    CHECK(step.rows <= 2 * max_per_block);
    rows += step.rows;
    has_more = step.has_more;
  }
  CHECK(rows == ledger_rows);
  CHECK(steps == (blocks + 1) / 2);

  inbox.database().run(
      "insert into inbox.ledger values ('00000000-0000-0000-0000-000000000001', 1, 2, 3, '2020-01-01')");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 0);
  inbox.database().run("update inbox.ledger_trim set day = day - 1");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 1);
}

TEST_CASE("a trim in progress is left to instances with the same or a shorter retention") {
  using namespace std::chrono_literals;
  Inbox inbox;
  fill_ledger(inbox);
  const auto first = inbox::trim_ledger(inbox.connection(), 24h, 1);
  CHECK(first.rows > 0);
  CHECK(first.has_more);
  const auto longer = inbox::trim_ledger(inbox.connection(), 240h, 1000);
  CHECK(longer.rows == 0);
  CHECK_FALSE(longer.has_more);
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 1000).rows == ledger_rows - first.rows);
  CHECK(inbox.database().text("select day = current_date - 1 and next_block is null from inbox.ledger_trim") == "t");
}

TEST_CASE("no step of a trim runs twice, and locked rows are deleted a day later") {
  using namespace std::chrono_literals;
  Inbox inbox;
  fill_ledger(inbox);
  inbox.database().run("begin");
  inbox.database().run("select from inbox.ledger_trim for update");
  const auto beside = inbox::trim_ledger(inbox.connection(), 24h, 1);
  CHECK(beside.rows == 0);
  CHECK_FALSE(beside.has_more);
  inbox.database().run("rollback");
  inbox.database().run("begin");
  inbox.database().run("select from inbox.ledger where \"offset\" = 7 for no key update");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 1000).rows == ledger_rows - 1);
  inbox.database().run("rollback");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 1000).rows == 0);
  inbox.database().run("update inbox.ledger_trim set day = day - 1");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 1000).rows == 1);
}

TEST_CASE("a trim's date in the future, left by a wrong clock, does not stop trimming") {
  using namespace std::chrono_literals;
  const bool is_under_way = GENERATE(false, true);
  Inbox inbox;
  fill_ledger(inbox);
  inbox.database().run("update inbox.ledger_trim set day = current_date + 300, next_block = nullif($1::int, 0)",
                       {is_under_way ? "5" : "0"});
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 1000).rows == ledger_rows);
}

TEST_CASE("a step reads its blocks of the ledger only, however large the ledger is") {
  using namespace std::chrono_literals;
  Inbox inbox;
  fill_ledger(inbox);
  inbox.database().run(
      "insert into inbox.also_seen select gen_random_uuid(), 'audit', 'Paid', 1, i, 1 from generate_series(1, 20000) "
      "i; "
      "analyze inbox.ledger; "
      "analyze inbox.also_seen");
  const auto read = [&] {
    inbox.end_sessions();
    return inbox.database().number(
        "select sum(seq_tup_read) from pg_stat_user_tables where relid in ('inbox.ledger'::regclass, "
        "'inbox.also_seen'::regclass)");
  };
  const auto before = read();
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 2).has_more);
  CHECK(read() - before <= 2 * max_per_block);
}

TEST_CASE("an id that the ledger has forgotten is a new event on each of its topics") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto of_orders = inbox.add_handler("of-orders", {"orders"});
  const auto of_audit = inbox.add_handler("of-audit", {"audit"});
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  for (const std::int64_t offset : {0, 1}) {
    Batch first{inbox};
    first.at(orders, offset).event(id).deliver_to(of_orders);
    first.store(inbox.connection());
    Batch second{inbox};
    second.at(audit, offset).event(id).deliver_to(of_audit);
    second.store(inbox.connection());
    make_ledger_old(inbox);
    CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 1);
  }
  CHECK(inbox.database().text("select string_agg(handler || ' ' || due, ', ' order by handler) from inbox.backlog") ==
        "of-audit 2, of-orders 2");
}

TEST_CASE("two simultaneous trims run each step once") {
  using namespace std::chrono_literals;
  Inbox inbox;
  constexpr int enough = 40'000;
  fill_ledger(inbox, enough);
  const auto blocks = inbox.database().number("select pg_relation_size('inbox.ledger') / 8192");
  inbox.database().run(
      "create table inbox.bites (next bigint); "
      "create function inbox.note_bite() returns trigger language plpgsql as $$ "
      "begin insert into inbox.bites values (new.next_block); return null; end $$; "
      "create trigger bites after update on inbox.ledger_trim for each row execute function inbox.note_bite()");
  const auto other = inbox.connect();
  std::atomic<bool> is_over = false;
  std::atomic<std::int64_t> rows = 0;
  const auto trim = [&](inbox::Connection& connection) {
    while (!is_over) {
      const auto step = inbox::trim_ledger(connection, 24h, 1);
      rows += step.rows;
      if (step.rows > 0 && !step.has_more) is_over = true;
    }
  };
  std::thread beside{[&] { trim(*other); }};
  trim(inbox.connection());
  beside.join();
  CHECK(rows == enough);
  CHECK(inbox.database().number("select count(*) from inbox.bites") == blocks);
  CHECK(inbox.database().number("select count(distinct next) from inbox.bites") == blocks - 1);  // the last has none
}

TEST_CASE("a trim without progress for a day starts again with a longer retention") {
  using namespace std::chrono_literals;
  Inbox inbox;
  fill_ledger(inbox);
  CHECK(inbox::trim_ledger(inbox.connection(), 0h, 1).has_more);
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 1000).rows == 0);
  inbox.database().run("update inbox.ledger_trim set moved_at = moved_at - interval '25 hours'");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 1000).rows > ledger_rows / 2);
  CHECK(inbox.database().text("select day = current_date - 1 and next_block is null from inbox.ledger_trim") == "t");
}

namespace {

/// Two events of topic `orders`. The ledger is about to forget the first. The second sorts before it, so a batch of
/// both is not all new.
struct ExpiringId {
  ExpiringId() {
    Batch first{inbox};
    first.at(orders, 0).event(kept).event(id).store(inbox.connection());
  }
  /// Another session stores the batch: it waits, `meanwhile` runs, and it has to be repeated.
  void store_and_fail(Batch& batch, const std::function<void()>& meanwhile) {
    const auto other = inbox.connect();
    std::jthread storing{[&] { CHECK(failure_of([&] { batch.store(*other); }).sqlstate == "40001"); }};
    wait_for_waiter(inbox);
    meanwhile();
  }
  static void forget(Session& session, const base::Uuid& which) {
    session.run("delete from inbox.ledger where event_id = $1", {which.text()});
  }

  Inbox inbox;
  const base::Uuid kept = *base::parse_uuid("00000000-0000-4000-8000-000000000001"), id = base::random_uuid();
  const std::int32_t handler = inbox.add_handler("of-audit", {"audit"});
  const std::int32_t orders = inbox.add_shard("orders");
  const std::int32_t audit = inbox.add_shard("audit");
  Session beside{inbox.database().url(), inbox.database().schema()};
};

}  // namespace

TEST_CASE("an id that is forgotten while it arrives on another topic is stored as new") {
  ExpiringId test;
  Inbox& inbox = test.inbox;
  test.beside.run("begin");
  test.forget(test.beside, test.id);
  Batch again{inbox};
  again.at(test.audit, 0).event(test.kept).event(test.id).deliver_to(test.handler);
  test.store_and_fail(again, [&] { test.beside.run("commit"); });

  CHECK(again.store(inbox.connection()).stored == 1);
  CHECK(inbox.pending_events() == 2);
}

TEST_CASE(
    "an id that is forgotten and stored again while it arrives on another topic is delivered to that topic's "
    "handlers") {
  ExpiringId test;
  Inbox& inbox = test.inbox;
  const auto between = *base::parse_uuid("00000000-0000-4000-8000-000000000002");
  Batch more{inbox};
  more.at(test.orders, 2).event(between).store(inbox.connection());
  test.beside.run("begin");
  test.forget(test.beside, between);
  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run("begin");
  holder.run("select from inbox.ledger where event_id = $1 for update", {test.id.text()});
  Batch again{inbox};
  again.at(test.audit, 0).event(test.kept).event(between).event(test.id).deliver_to(test.handler);
  test.store_and_fail(again, [&] {
    test.beside.run("commit");
    Batch renewed{inbox};
    CHECK(renewed.at(test.orders, 3).event(between).store(inbox.connection()).stored == 1);
    holder.run("rollback");
  });

  CHECK(again.store(inbox.connection()).stored == 0);
  CHECK(inbox.pending_events() == 3);
}

TEST_CASE("an id that is forgotten while it arrives with another payload is stored as new") {
  ExpiringId test;
  Inbox& inbox = test.inbox;
  test.beside.run("begin");
  test.forget(test.beside, test.id);
  Batch again{inbox};
  again.at(test.orders, 2).event(test.kept).event(test.id, "changed");
  test.store_and_fail(again, [&] { test.beside.run("commit"); });

  const auto result = again.store(inbox.connection());
  CHECK(result.stored == 1);
  CHECK(result.conflicts == 0);
}

TEST_CASE("an id that is forgotten between two statements of a batch is stored with its ledger row") {
  ExpiringId test;
  Inbox& inbox = test.inbox;
  // After the statement that finds the id, before the statement that reads its row.
  inbox.database().run(
      "create table inbox.gate (); create function inbox.wait() returns trigger language plpgsql as $$ "
      "begin lock table inbox.gate; return null; end $$; "
      "create trigger wait after insert on inbox.ledger for each statement execute function inbox.wait()");
  test.beside.run("begin; lock table inbox.gate");
  const auto twice = base::random_uuid();
  Batch again{inbox};
  again.at(test.orders, 2).event(test.id).event(twice).event(twice);
  test.store_and_fail(again, [&] {
    test.forget(inbox.database().session(), test.id);
    test.beside.run("commit");
  });

  CHECK(again.store(inbox.connection()).stored == 2);
  CHECK(inbox.database().number("select count(*) from inbox.ledger") == 3);
}
