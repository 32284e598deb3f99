// A database that lost commits (a failover, a restore) has lost handlers; instances put them back.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <set>

#include "integration/support/inbox.hpp"
#include "operations/handler_queries.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

using Registrations = std::vector<inbox::Registered>;

void retire(Inbox& inbox, const std::string& name) {
  const auto pending = operations::find_pending(inbox.connection(), name, std::chrono::seconds{60});
  operations::retire_handler(inbox.connection(), pending.value(), "ann");
}

Registrations put_back(Inbox& inbox, const Registrations& known) {
  return inbox::restore_registrations(inbox.connection(), known, "test", {inbox.owner, "pod-1", 1});
}

}  // namespace

TEST_CASE("a handler that the database has lost returns under its id, and gets the events stored since it was added") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch{inbox}.at(shard, 0).events(4).store(inbox.connection());
  const auto handler = handler_named("late");
  const auto known = inbox::register_handlers(inbox.connection(), {handler});
  CHECK(inbox::are_registered(inbox.connection(), known));
  Batch{inbox}.at(shard, 4).events(3).store(inbox.connection());
  // As after a failover to a standby that lagged.
  inbox.database().run("delete from inbox.handler");
  CHECK_FALSE(inbox::are_registered(inbox.connection(), known));
  Batch{inbox}.at(shard, 7).events(2).store(inbox.connection());

  SECTION("put back by an instance that knows it") {
    const auto again = put_back(inbox, known);
    CHECK(again.at(0).handler_id == known.at(0).handler_id);
    CHECK(again.at(0).since == known.at(0).since);
    CHECK(again.at(0).is_new);
    CHECK(inbox::are_registered(inbox.connection(), again));
    const auto once_more = inbox::register_handlers(inbox.connection(), {handler}, "test", again);
    CHECK_FALSE(once_more.at(0).is_new);
    backfill_all(inbox.connection(), 100);
    std::multiset<std::int64_t> given;
    for (const auto& run : claim_due(inbox.connection(), known.at(0).handler_id, inbox.owner).runs) {
      for (const auto* event : run.events) given.insert(event->offset);
    }
    CHECK(given == std::multiset<std::int64_t>{4, 5, 6, 7, 8});
  }
  SECTION("added as new by another instance: it has another id, and is not taken for the old handler") {
    const auto fresh = inbox::register_handlers(inbox.connection(), {handler});
    CHECK(fresh.at(0).handler_id != known.at(0).handler_id);
    CHECK_FALSE(inbox::are_registered(inbox.connection(), known));
    CHECK(put_back(inbox, known).at(0).handler_id == fresh.at(0).handler_id);
  }
}

TEST_CASE("a changed configuration puts back a lost handler at any place in it") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const auto known = inbox::register_handlers(inbox.connection(), {handler_named("first"), handler_named("late")});
  Batch{inbox}.at(shard, 0).events(3).store(inbox.connection());
  inbox.database().run("delete from inbox.handler where name = 'late'");
  auto late = handler_named("late");
  SECTION("by its name") {}
  SECTION("renamed") {
    late.name = "later";
    late.aliases = {"late"};
  }
  const auto again = inbox::register_handlers(inbox.connection(), {handler_named("new"), late}, "test", known);
  CHECK(again.at(0).handler_id != known.at(0).handler_id);
  CHECK(again.at(1).handler_id == known.at(1).handler_id);
  CHECK(again.at(1).is_new);
  backfill_all(inbox.connection(), 100);
  CHECK(events_in(claim_due(inbox.connection(), again.at(1).handler_id, inbox.owner).runs) == 3);
  CHECK(inbox.pending_events() == 3);
}

TEST_CASE("a retired handler is not lost: the instance that ran it leaves it retired") {
  Inbox inbox;
  const auto known = inbox::register_handlers(inbox.connection(), {handler_named("late")});
  retire(inbox, "late");
  const auto again = inbox::register_handlers(inbox.connection(), {handler_named("late")}, "test", known);
  CHECK(again.at(0).is_retired);
  CHECK_FALSE(again.at(0).is_new);
  CHECK(put_back(inbox, known).at(0).changed_under == known.at(0).changed_under);
  CHECK(inbox::read_routing(inbox.connection()).handlers.empty());
}

TEST_CASE("a lost restore of a retired handler is put back, with the events stored without it") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const auto first = inbox::register_handlers(inbox.connection(), {handler_named("late")});
  const auto handler = first.at(0).handler_id;
  Batch{inbox}.at(shard, 0).events(1).deliver_to(handler).store(inbox.connection());
  retire(inbox, "late");
  const auto version = inbox.database().text("select changed_under::text from inbox.handler");
  REQUIRE(operations::restore_handler(inbox.connection(), handler, "ann"));
  const auto known = inbox::register_handlers(inbox.connection(), {handler_named("late")}, "test", first);
  CHECK(known.at(0).changed_under > first.at(0).changed_under);
  // As after a failover to a standby without the restore.
  inbox.database().run("update inbox.handler set retired_at = now(), changed_under = $1::bigint", {version});
  CHECK_FALSE(inbox::are_registered(inbox.connection(), known));
  Batch{inbox}.at(shard, 1).events(2).store(inbox.connection());

  const bool is_reload = GENERATE(true, false);
  if (is_reload) inbox::register_handlers(inbox.connection(), {handler_named("late")}, "test", known);
  if (!is_reload) put_back(inbox, known);
  CHECK(inbox::are_registered(inbox.connection(), known));
  CHECK(inbox::read_routing(inbox.connection()).handlers.size() == 1);
  backfill_all(inbox.connection(), 100);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 2);
}

TEST_CASE("an instance notices that the database lost the handler change it made") {
  Inbox inbox;
  auto handler = handler_named("receipt");
  inbox::register_handlers(inbox.connection(), {handler});
  const auto version = std::to_string(inbox.routing_version());
  handler.topics = {"orders"};
  const auto changed = inbox::register_handlers(inbox.connection(), {handler});
  CHECK(inbox::are_registered(inbox.connection(), changed));
  inbox.database().run("update inbox.handler set topics = '{}', changed_under = $1::bigint", {version});
  inbox.database().run("update inbox.routing set version = $1::bigint", {version});
  CHECK_FALSE(inbox::are_registered(inbox.connection(), changed));
  // Adding a handler raises the routing version.
  inbox.add_handler("other");
  CHECK_FALSE(inbox::are_registered(inbox.connection(), changed));
  const auto again = put_back(inbox, changed);
  CHECK(again.at(0).change == "topics: all -> orders");
  CHECK(inbox::are_registered(inbox.connection(), again));
  CHECK(inbox.routing_version() > changed.at(0).changed_under);  // no version is used twice
}

TEST_CASE("an older configuration that puts a handler back first neither hides nor undoes the newer configuration") {
  Inbox inbox;
  auto& connection = inbox.connection();
  auto older = handler_named("receipt"), newer = older;
  newer.topics = {"orders"};
  const auto known_to_older = inbox::register_handlers(connection, {older});
  const auto known_to_newer = inbox::register_handlers(connection, {newer});
  inbox.database().run("delete from inbox.handler");
  const auto older_again = put_back(inbox, known_to_older);
  CHECK(inbox::read_routing(connection).handlers.at(0).topics.empty());
  CHECK_FALSE(inbox::are_registered(connection, known_to_newer));
  const auto newer_again = put_back(inbox, known_to_newer);
  CHECK(newer_again.at(0).handler_id == known_to_newer.at(0).handler_id);
  CHECK(newer_again.at(0).change == "topics: all -> orders");

  CHECK(inbox::are_registered(connection, older_again));
  CHECK(put_back(inbox, older_again).at(0).change.empty());
  CHECK(inbox::are_registered(connection, newer_again));
  CHECK(inbox::read_routing(connection).handlers.at(0).topics == newer.topics);
}

/// A rename in a rolling deploy: an instance still has the old configuration, but started after the rename.
struct RenamedHandler {
  RenamedHandler() {
    older.topics = {"orders"};
    newer.aliases = {"mail"};
    newer.topics = {"orders", "refunds"};
    version = inbox::register_handlers(inbox.connection(), {older}).at(0).changed_under;
    known_to_newer = inbox::register_handlers(inbox.connection(), {newer});
    known_to_older = inbox::register_handlers(inbox.connection(), {older});
    id = known_to_newer.at(0).handler_id;
  }
  void lose_rename() {
    inbox.database().run(
        "update inbox.handler set name = 'mail', aliases = '{}', topics = '{orders}', changed_under = $1::bigint",
        {std::to_string(version)});
  }
  std::string stored() {
    return inbox.database().text(
        "select string_agg(handler_id || ' ' || name || ' ' || topics::text, ', ') from inbox.handler");
  }
  std::string with_id(const std::string& name_and_topics) const { return std::to_string(id) + " " + name_and_topics; }

  Inbox inbox;
  config::Handler older = handler_named("mail"), newer = handler_named("receipt");
  std::int64_t version = 0;  // before the rename
  Registrations known_to_newer, known_to_older;
  std::int32_t id = 0;
};

TEST_CASE("a configuration with a former name puts back its own handler, and the newer configuration the rename") {
  RenamedHandler test;
  auto& connection = test.inbox.connection();
  SECTION("the rename is lost") {
    test.lose_rename();
    CHECK(inbox::are_registered(connection, test.known_to_older));
  }
  SECTION("the handler is lost") {
    test.inbox.database().run("delete from inbox.handler");
    CHECK_FALSE(inbox::are_registered(connection, test.known_to_older));
  }
  const auto older_again = put_back(test.inbox, test.known_to_older);
  CHECK(test.stored() == test.with_id("mail {orders}"));
  CHECK_FALSE(inbox::are_registered(connection, test.known_to_newer));
  const auto newer_again = put_back(test.inbox, test.known_to_newer);
  CHECK(test.stored() == test.with_id("receipt {orders,refunds}"));

  put_back(test.inbox, older_again);
  CHECK(test.stored() == test.with_id("receipt {orders,refunds}"));
  CHECK(inbox::are_registered(connection, older_again));
  CHECK(inbox::are_registered(connection, newer_again));
}

TEST_CASE("reloading a configuration with a former name puts a lost handler back under its id") {
  RenamedHandler test;
  test.inbox.database().run("delete from inbox.handler");
  const auto again = inbox::register_handlers(test.inbox.connection(), {test.older}, "test", test.known_to_older);
  CHECK(again.at(0).handler_id == test.id);
  CHECK(again.at(0).since == test.known_to_older.at(0).since);
}

TEST_CASE("a handler is found in a database that lost its rename, even without its former name") {
  RenamedHandler test;
  test.newer.aliases.clear();
  const auto known = inbox::register_handlers(test.inbox.connection(), {test.newer}, "test", test.known_to_newer);
  test.lose_rename();
  SECTION("put back") { put_back(test.inbox, known); }
  SECTION("by a reload") { inbox::register_handlers(test.inbox.connection(), {test.newer}, "test", known); }
  CHECK(test.stored() == test.with_id("receipt {orders,refunds}"));
}

TEST_CASE("a configuration that adds the new name to a former name means two handlers") {
  RenamedHandler test;
  test.newer.aliases.clear();
  const auto both =
      inbox::register_handlers(test.inbox.connection(), {test.older, test.newer}, "test", test.known_to_older);
  CHECK(both.at(0).is_new);
  CHECK(both.at(0).handler_id != test.id);
  CHECK(both.at(1).handler_id == test.id);
}

TEST_CASE("each of two handlers is put back under its id, even if either had the other's name before") {
  RenamedHandler test;
  test.newer.aliases.clear();
  const bool is_older_first = GENERATE(true, false);
  const auto names = is_older_first ? std::vector{test.older, test.newer} : std::vector{test.newer, test.older};
  const auto both = inbox::register_handlers(test.inbox.connection(), names, "test", test.known_to_newer);
  CHECK(both.at(is_older_first ? 0 : 1).handler_id != test.id);
  test.inbox.database().run("delete from inbox.handler where handler_id <> $1::int", {std::to_string(test.id)});
  test.lose_rename();
  const auto again = put_back(test.inbox, both);
  for (std::size_t i = 0; i < both.size(); ++i) {
    CHECK(again.at(i).handler_id == both.at(i).handler_id);
    CHECK(test.inbox.database().text("select name from inbox.handler where handler_id = $1::int",
                                     {std::to_string(both.at(i).handler_id)}) == names.at(i).name);
  }
}

TEST_CASE("putting a lost handler back restores no retired handler") {
  Inbox inbox;
  const auto known = inbox::register_handlers(inbox.connection(), {handler_named("retired"), handler_named("late")});
  retire(inbox, "retired");
  inbox.database().run("delete from inbox.handler where name = 'late'");
  const auto again = put_back(inbox, known);
  CHECK_FALSE(again.at(0).is_new);
  CHECK(again.at(1).is_new);
  CHECK(inbox::are_registered(inbox.connection(), again));
  CHECK(inbox::retired_handlers(inbox.connection(), {again.at(0).handler_id, again.at(1).handler_id}) ==
        std::set<std::int32_t>{again.at(0).handler_id});
}

TEST_CASE("reloading an older configuration unchanged does not hide the newer configuration") {
  Inbox inbox;
  auto& connection = inbox.connection();
  auto older = handler_named("receipt"), newer = older;
  older.topics = {"refunds"};
  newer.topics = {"orders"};
  const auto first = inbox::register_handlers(connection, {handler_named("receipt")});
  const auto known_to_older = inbox::register_handlers(connection, {older});
  const auto known_to_newer = inbox::register_handlers(connection, {newer});
  const bool is_forgotten = GENERATE(true, false);
  const auto version = std::to_string(first.at(0).changed_under);
  if (is_forgotten) inbox.database().run("delete from inbox.handler");
  if (!is_forgotten)
    inbox.database().run("update inbox.handler set topics = '{}', changed_under = $1::bigint", {version});
  const auto reloaded = inbox::register_handlers(connection, {older}, "test", known_to_older);
  CHECK(reloaded.at(0).changed_under == known_to_older.at(0).changed_under);
  CHECK_FALSE(inbox::are_registered(connection, known_to_newer));
  put_back(inbox, known_to_newer);
  CHECK(inbox::read_routing(connection).handlers.at(0).topics == newer.topics);
}
