// The ledger is walked once a day, and what it forgets is a new event.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <thread>

#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// All that is in the ledger is three days old, and no walk through it has been.
void make_ledger_old(Inbox& inbox) {
  inbox.database().run(
      "update inbox.ledger set received_at = current_date - 3; "
      "update inbox.ledger_trim set day = '-infinity', next_block = null");
}

constexpr std::int64_t ledger_rows = 1000;
constexpr std::int64_t most_in_a_block = 8192 / 44;  // by what its columns take alone

void fill_ledger(Inbox& inbox, std::int64_t rows = ledger_rows) {
  inbox.database().run(
      "insert into inbox.ledger select gen_random_uuid(), 1, i, i, current_date - 3 from generate_series(1, $1::int) i",
      {std::to_string(rows)});
}

}  // namespace

TEST_CASE("old rows of the ledger and of positions go in bites, never the newest position") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  inbox.database().run("insert into inbox.position select $1::int, 0, i, i + 1, 1 from generate_series(0, 2999) i",
                       {std::to_string(shard)});
  std::int64_t trimmed = 0;
  while (const auto bite = inbox::trim_positions(inbox.connection(), 500)) {
    CHECK(bite <= 500);
    trimmed += bite;
  }
  CHECK(trimmed == 2000);
  CHECK(inbox.position("orders") == 3000);

  Batch batch{inbox};
  batch.at(shard, 3000).events(10);
  batch.store(inbox.connection());
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 0);
  make_ledger_old(inbox);
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 10);
}

TEST_CASE("the ledger is walked once a day, in bites that whoever comes next goes on with") {
  using namespace std::chrono_literals;
  Inbox inbox;
  fill_ledger(inbox);
  const auto blocks = inbox.database().number("select pg_relation_size('inbox.ledger') / 8192");
  REQUIRE(blocks > 4);
  const auto other = inbox.connect();
  std::int64_t rows = 0;
  int bites = 0;
  for (bool has_more = true; has_more; ++bites) {
    const auto bite = inbox::trim_ledger(bites % 2 == 0 ? inbox.connection() : *other, 24h, 2);
    CHECK(bite.rows <= 2 * most_in_a_block);
    rows += bite.rows;
    has_more = bite.has_more;
  }
  CHECK(rows == ledger_rows);
  CHECK(bites == (blocks + 1) / 2);

  inbox.database().run(
      "insert into inbox.ledger values ('00000000-0000-0000-0000-000000000001', 1, 2, 3, '2020-01-01')");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 0);  // once a day
  inbox.database().run("update inbox.ledger_trim set day = day - 1");
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 1);
}

TEST_CASE("a walk through the ledger is left to those who keep no more than it is for") {
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

TEST_CASE("a bite of the ledger that somebody has in hand is not taken twice, and what is locked goes a day later") {
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

TEST_CASE("a day to come that a wrong clock left behind does not stop the ledger from being trimmed") {
  using namespace std::chrono_literals;
  const bool is_under_way = GENERATE(false, true);
  Inbox inbox;
  fill_ledger(inbox);
  inbox.database().run("update inbox.ledger_trim set day = current_date + 300, next_block = nullif($1::int, 0)",
                       {is_under_way ? "5" : "0"});
  CHECK(inbox::trim_ledger(inbox.connection(), 24h, 1000).rows == ledger_rows);
}

TEST_CASE("a bite of the ledger is read by place, however large it is") {
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
  CHECK(read() - before <= 2 * most_in_a_block);
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
    first.at(orders, offset).event(id).owe(of_orders);
    first.store(inbox.connection());
    Batch second{inbox};
    second.at(audit, offset).event(id).owe(of_audit);
    second.store(inbox.connection());
    make_ledger_old(inbox);
    CHECK(inbox::trim_ledger(inbox.connection(), 24h, 100).rows == 1);
  }
  CHECK(inbox.database().text("select string_agg(handler || ' ' || due, ', ' order by handler) from inbox.backlog") ==
        "of-audit 2, of-orders 2");
}

TEST_CASE("two that walk through the ledger at the same moment take each bite once") {
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
  const auto walk = [&](inbox::Connection& connection) {
    while (!is_over) {
      const auto bite = inbox::trim_ledger(connection, 24h, 1);
      rows += bite.rows;
      if (bite.rows > 0 && !bite.has_more) is_over = true;
    }
  };
  std::thread beside{[&] { walk(*other); }};
  walk(inbox.connection());
  beside.join();
  CHECK(rows == enough);
  CHECK(inbox.database().number("select count(*) from inbox.bites") == blocks);
  CHECK(inbox.database().number("select count(distinct next) from inbox.bites") == blocks - 1);  // the last has none
}

TEST_CASE("a walk that nobody has gone on with for a day begins anew for those who keep more") {
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

/// Two events of topic `orders`. The ledger is about to forget one; the other, which sorts before it, keeps a batch
/// that has both from being taken for new.
struct AboutToBeForgotten {
  AboutToBeForgotten() {
    Batch first{inbox};
    first.at(orders, 0).event(kept).event(id).store(inbox.connection());
  }
  /// Another session stores the batch: it waits, `meanwhile` something happens, and it has to try again.
  void store_in_vain(Batch& batch, const std::function<void()>& meanwhile) {
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

TEST_CASE("an id that is being forgotten while another topic brings it is stored as a new one") {
  AboutToBeForgotten test;
  Inbox& inbox = test.inbox;
  test.beside.run("begin");
  test.forget(test.beside, test.id);
  Batch again{inbox};
  again.at(test.audit, 0).event(test.kept).event(test.id).owe(test.handler);
  test.store_in_vain(again, [&] { test.beside.run("commit"); });

  CHECK(again.store(inbox.connection()).stored == 1);
  CHECK(inbox.outstanding() == 2);
}

TEST_CASE("an id that is forgotten and stored anew while another topic brings it is owed to that topic's handlers") {
  AboutToBeForgotten test;
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
  again.at(test.audit, 0).event(test.kept).event(between).event(test.id).owe(test.handler);
  test.store_in_vain(again, [&] {
    test.beside.run("commit");
    Batch anew{inbox};
    CHECK(anew.at(test.orders, 3).event(between).store(inbox.connection()).stored == 1);
    holder.run("rollback");
  });

  CHECK(again.store(inbox.connection()).stored == 0);
  CHECK(inbox.outstanding() == 3);
}

TEST_CASE("an id that is being forgotten while it comes with another payload is stored as a new one") {
  AboutToBeForgotten test;
  Inbox& inbox = test.inbox;
  test.beside.run("begin");
  test.forget(test.beside, test.id);
  Batch again{inbox};
  again.at(test.orders, 2).event(test.kept).event(test.id, "changed");
  test.store_in_vain(again, [&] { test.beside.run("commit"); });

  const auto result = again.store(inbox.connection());
  CHECK(result.stored == 1);
  CHECK(result.conflicts == 0);
}

TEST_CASE("an id that is forgotten between two statements of one batch is stored with its row in the ledger") {
  AboutToBeForgotten test;
  Inbox& inbox = test.inbox;
  // Behind the statement that found the id there, before the one that asks whose it is.
  inbox.database().run(
      "create table inbox.gate (); create function inbox.wait() returns trigger language plpgsql as $$ "
      "begin lock table inbox.gate; return null; end $$; "
      "create trigger wait after insert on inbox.ledger for each statement execute function inbox.wait()");
  test.beside.run("begin; lock table inbox.gate");
  const auto twice = base::random_uuid();
  Batch again{inbox};
  again.at(test.orders, 2).event(test.id).event(twice).event(twice);
  test.store_in_vain(again, [&] {
    test.forget(inbox.database().session(), test.id);
    test.beside.run("commit");
  });

  CHECK(again.store(inbox.connection()).stored == 2);
  CHECK(inbox.database().number("select count(*) from inbox.ledger") == 3);
}
