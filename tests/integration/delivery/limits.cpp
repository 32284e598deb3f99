// Limits over all instances: tokens of `rate`, calls of `max_in_flight`.
#include <catch2/catch_test_macros.hpp>

#include <functional>

#include "inbox/handler_limit.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// The tokens' clock as the test turns it: time passes by moving what was spent into the past.
void let_pass(Inbox& inbox, const std::string& time) {
  inbox.database().run("update inbox.token_grant set spent_until = spent_until - interval '" + time + "'");
}

struct Sharing {
  Inbox inbox;
  const std::int32_t handler = inbox.add_handler("partner");
  const base::Uuid first = base::random_uuid();
  const base::Uuid second = base::random_uuid();
  int ask(const base::Uuid& owner, int wanted, int held, int most = 10, std::chrono::milliseconds lease = 30s) {
    return inbox::share_calls(inbox.connection(), owner, handler, {most, wanted, held, lease});
  }
};

}  // namespace

TEST_CASE("tokens are granted at the rate, and half a second's worth is saved up") {
  Inbox inbox;
  const auto handler = inbox.add_handler("partner");
  const auto take = [&](std::int64_t wanted) { return inbox::take_tokens(inbox.connection(), handler, 0.01, wanted); };
  CHECK(take(5).granted == 1);
  const auto none = take(5);
  CHECK(none.granted == 0);
  CHECK((none.wait > 90s && none.wait <= 100s));
  let_pass(inbox, "99 s");
  CHECK(take(5).granted <= 1);
  let_pass(inbox, "1 h");
  CHECK(take(5).granted == 1);

  const auto fast = inbox.add_handler("fast");
  CHECK(inbox::take_tokens(inbox.connection(), fast, 1e6, 400'000).granted == 400'000);
  CHECK(inbox::take_tokens(inbox.connection(), fast, 1e6, 10'000'000).granted <= 500'000);
}

TEST_CASE("a database clock that was turned back does not stop a handler with a rate") {
  Inbox inbox;
  const auto handler = inbox.add_handler("partner");
  CHECK(inbox::take_tokens(inbox.connection(), handler, 1'000, 1).granted == 1);
  inbox.database().run("update inbox.token_grant set spent_until = clock_timestamp() + interval '1 year'");
  CHECK(inbox::take_tokens(inbox.connection(), handler, 1'000, 10'000).granted == 500);
  CHECK(inbox::take_tokens(inbox.connection(), handler, 1'000, 10'000).granted < 500);
}

TEST_CASE("an instance alone gets all calls, and a second instance its even share as calls come back") {
  Sharing sharing;
  CHECK(sharing.ask(sharing.first, 20, 0) == 10);
  CHECK(sharing.ask(sharing.second, 20, 0) == 0);
  CHECK(sharing.ask(sharing.first, 20, 10) == 5);  // asked back
  CHECK(sharing.ask(sharing.second, 20, 0) == 0);  // still held
  CHECK(sharing.ask(sharing.first, 20, 7) == 5);
  CHECK(sharing.ask(sharing.second, 20, 0) == 3);
  CHECK(sharing.ask(sharing.first, 20, 5) == 5);
  CHECK(sharing.ask(sharing.second, 20, 3) == 5);
}

TEST_CASE("calls that an instance does not want go to the others") {
  Sharing sharing;
  CHECK(sharing.ask(sharing.first, 2, 0) == 2);
  CHECK(sharing.ask(sharing.second, 20, 0) == 8);
  CHECK(sharing.ask(sharing.first, 0, 0) == 0);
  CHECK(sharing.ask(sharing.second, 20, 8) == 10);
}

TEST_CASE("the calls of a killed instance come back at the end of its lease") {
  Sharing sharing;
  CHECK(sharing.ask(sharing.first, 10, 0, 10, 0ms) == 10);
  CHECK(sharing.ask(sharing.second, 10, 0) == 10);
}

TEST_CASE("calls that a dead instance has leased come back after the database's clock was turned back") {
  Sharing sharing;
  CHECK(sharing.ask(sharing.first, 10, 0) == 10);
  sharing.inbox.database().run("update inbox.call_share set leased_until = leased_until + interval '1 hour'");
  CHECK(sharing.ask(sharing.second, 10, 0) == 10);
}

TEST_CASE("a single call for two instances alternates between them") {
  Sharing sharing;
  CHECK(sharing.ask(sharing.first, 1, 0, 1) == 1);
  CHECK(sharing.ask(sharing.second, 1, 0, 1) == 0);
  CHECK(sharing.ask(sharing.first, 1, 1, 1) == 0);  // its call ends, and the other instance's begins
  CHECK(sharing.ask(sharing.first, 1, 0, 1) == 0);
  CHECK(sharing.ask(sharing.second, 1, 0, 1) == 1);
  CHECK(sharing.ask(sharing.second, 1, 1, 1) == 0);
  CHECK(sharing.ask(sharing.second, 0, 0, 1) == 0);
  CHECK(sharing.ask(sharing.first, 1, 0, 1) == 1);
}

TEST_CASE("an old snapshot makes neither tokens nor shares of calls expensive") {
  Sharing sharing;
  Database& database = sharing.inbox.database();
  for (const auto* table : {"handler_limit", "token_grant", "call_share"}) {
    // Statistics of such a table let the planner read up to 100 blocks for each plan, which would count here.
    database.run("alter table inbox." + std::string{table} + " set (autovacuum_enabled = off)");
  }
  const std::string handler = std::to_string(sharing.handler);
  const auto use = [&](Session& session, int times) {
    session.run("select inbox.take_tokens(" + handler + ", 1e6, 1), inbox.share_calls(" + handler +
                ", md5((i % 3)::text)::uuid, 10, 5, i % 2, interval '30 s') from generate_series(1, " +
                std::to_string(times) + ") i");
  };
  const auto blocks_of_use = [&] {
    Session session{database.url(), database.schema()};
    session.run("begin");
    use(session, 10);
    const auto blocks = session.number(
        "select sum(pg_stat_get_xact_blocks_fetched(c.oid)) from pg_class c where c.relnamespace = $1::regnamespace "
        "and c.relname ~ '^(handler_limit|token_grant|call_share)'",
        {database.schema()});
    session.run("commit");
    return blocks;
  };
  use(database.session(), 3);
  const auto fresh = blocks_of_use();
  Session pinned{database.url(), database.schema()};
  pinned.run("begin isolation level repeatable read; select count(*) from inbox.event");
  for (int i = 0; i < 2'000; ++i) use(database.session(), 1);  // each in a transaction of its own
  const auto old = blocks_of_use();
  WARN("blocks read by 10 grants and 10 shares: " << fresh << " fresh, " << old << " over 4000 dead rows");
  CHECK(old < 2 * fresh);
}
