// The database has lost a handler's change: ingest stops until the change is put back.
#include <catch2/catch_test_macros.hpp>

#include "integration/support/inbox.hpp"
#include "integration/support/shard_store.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A handler with an additional topic.
struct ChangedHandler {
  explicit ChangedHandler(bool has_stored_before = false) {
    handler.topics = {"refunds"};
    older = inbox::register_handlers(inbox.connection(), {handler});
    if (has_stored_before) store_one();
    handler.topics = {"refunds", "orders"};
    newer = inbox::register_handlers(inbox.connection(), {handler});
  }
  void store_one() {
    CHECK_FALSE(store.store(next(), [] { return true; }).abandoned);
  }
  void lose_change() {
    const auto version = std::to_string(older.at(0).changed_under);
    inbox.database().run("update inbox.handler set topics = '{refunds}', changed_under = $1::bigint", {version});
    inbox.database().run("update inbox.routing set version = $1::bigint", {version});
  }
  /// As an instance with that configuration does.
  void put_back(const std::vector<inbox::Registered>& known) {
    const auto other = inbox.connect();
    inbox::restore_registrations(*other, known, "test", {inbox.owner, "pod-1", 1});
  }
  void check_that_the_next_one_waits_until_put_back() {
    const auto before = inbox.position("orders"), pending = inbox.pending_events();
    int asked = 0;
    CHECK(store.store(next(), [&] { return ++asked > 40; }).abandoned);
    CHECK(inbox.position("orders") == before);
    CHECK(inbox.pending_events() == pending);
    CHECK(store.counts.held == 0);

    asked = 0;
    const auto stored = store.store(next(), [&] {
      CHECK(store.counts.held == 1);
      if (++asked == 15) put_back(newer);
      return asked > 1'000;
    });
    CHECK_FALSE(stored.abandoned);
    CHECK(inbox.position("orders") == before + 1);
    CHECK(inbox.pending_events() == pending + 1);
    CHECK(store.counts.held == 0);
  }

  Inbox inbox;
  const std::int32_t shard = inbox.add_shard("orders");
  config::Handler handler = handler_named("receipt");
  std::vector<inbox::Registered> older, newer;
  ShardStore store{inbox};

 private:
  const Batch& next() {
    batch = std::make_unique<Batch>(inbox);
    return batch->at(shard, inbox.position("orders")).events(1);
  }
  std::unique_ptr<Batch> batch;
};

}  // namespace

TEST_CASE("a database that lost a handler's change takes no events until it is put back, so that they are delivered") {
  ChangedHandler changed;
  changed.store.registrations.set(changed.newer);
  changed.store_one();
  changed.lose_change();
  SECTION("its routing version is older") {}
  SECTION("another instance has raised its routing version since") { changed.inbox.add_handler("other", {"returns"}); }
  changed.check_that_the_next_one_waits_until_put_back();
}

TEST_CASE("nor does it if this ingester stored nothing between the change and the loss") {
  ChangedHandler changed{true};
  SECTION("known from its own process") { changed.store.registrations.set(changed.newer); }
  SECTION("known from another process") {
    changed.store.registrations.note(inbox::read_handler_versions(changed.inbox.connection()));
  }
  changed.lose_change();
  changed.check_that_the_next_one_waits_until_put_back();
}

TEST_CASE("nor does it from an instance with the older configuration that knows of the newer configuration") {
  ChangedHandler changed;
  changed.store.registrations.set(changed.older);
  SECTION("because it stored by the newer configuration") { changed.store_one(); }
  SECTION("because it read the versions") {
    changed.store.registrations.note(inbox::read_handler_versions(changed.inbox.connection()));
  }
  SECTION("also if it puts back its own older handler") {
    changed.store_one();
    changed.inbox.database().run("delete from inbox.handler");
    changed.put_back(changed.older);
    changed.check_that_the_next_one_waits_until_put_back();
  }
  SECTION("also if the same loss happened before") {
    changed.store_one();
    changed.lose_change();
    changed.check_that_the_next_one_waits_until_put_back();
  }
  changed.lose_change();
  changed.check_that_the_next_one_waits_until_put_back();
}

TEST_CASE("a change and its reversal that the database has lost stop no ingest once they are put back") {
  ChangedHandler changed;
  changed.handler.topics = {"refunds"};
  const auto as_before = inbox::register_handlers(changed.inbox.connection(), {changed.handler});
  changed.store.registrations.note(inbox::read_handler_versions(changed.inbox.connection()));
  changed.lose_change();
  changed.put_back(as_before);
  changed.store_one();
}
