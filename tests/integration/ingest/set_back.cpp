// A database that was set back to before a handler's change: what comes until that is put back.
#include <catch2/catch_test_macros.hpp>

#include "integration/support/inbox.hpp"
#include "integration/support/shard_store.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A handler that was given one topic more.
struct Changed {
  explicit Changed(bool has_stored_before = false) {
    handler.topics = {"refunds"};
    older = inbox::register_handlers(inbox.connection(), {handler});
    if (has_stored_before) store_one();
    handler.topics = {"refunds", "orders"};
    newer = inbox::register_handlers(inbox.connection(), {handler});
  }
  void store_one() {
    CHECK_FALSE(store.store(next(), [] { return true; }).abandoned);
  }
  /// To before the change.
  void set_back() {
    const auto version = std::to_string(older.at(0).changed_under);
    inbox.database().run("update inbox.handler set topics = '{refunds}', changed_under = $1::bigint", {version});
    inbox.database().run("update inbox.routing set version = $1::bigint", {version});
  }
  /// By an instance with that configuration.
  void put_back(const std::vector<inbox::Registered>& known) {
    const auto other = inbox.connect();
    inbox::put_back(*other, known, "test", {inbox.owner, "pod-1", 1});
  }
  void check_that_the_next_one_waits_until_put_back() {
    const auto before = inbox.position("orders"), owed = inbox.outstanding();
    int asked = 0;
    CHECK(store.store(next(), [&] { return ++asked > 40; }).abandoned);
    CHECK(inbox.position("orders") == before);
    CHECK(inbox.outstanding() == owed);
    CHECK(store.counts.held == 0);

    asked = 0;
    const auto stored = store.store(next(), [&] {
      CHECK(store.counts.held == 1);
      if (++asked == 15) put_back(newer);
      return asked > 1'000;
    });
    CHECK_FALSE(stored.abandoned);
    CHECK(inbox.position("orders") == before + 1);
    CHECK(inbox.outstanding() == owed + 1);
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

TEST_CASE("a database set back to before a handler's change takes nothing until that is put back: so it is owed") {
  Changed changed;
  changed.store.registrations.set(changed.newer);
  changed.store_one();
  changed.set_back();
  SECTION("its handlers are those of an older version") {}
  SECTION("somebody has made them a newer one since") { changed.inbox.add_handler("other", {"returns"}); }
  changed.check_that_the_next_one_waits_until_put_back();
}

TEST_CASE("nor does it where this ingester has stored nothing between the change and the set-back") {
  Changed changed{true};
  SECTION("of its own process") { changed.store.registrations.set(changed.newer); }
  SECTION("of another") { changed.store.registrations.note(inbox::read_handler_versions(changed.inbox.connection())); }
  changed.set_back();
  changed.check_that_the_next_one_waits_until_put_back();
}

TEST_CASE("nor does it from an instance that has the older configuration and knows that there was a newer one") {
  Changed changed;
  changed.store.registrations.set(changed.older);
  SECTION("because it stored by that") { changed.store_one(); }
  SECTION("because it has looked") {
    changed.store.registrations.note(inbox::read_handler_versions(changed.inbox.connection()));
  }
  SECTION("also where it puts the handler back as it was to it") {
    changed.store_one();
    changed.inbox.database().run("delete from inbox.handler");
    changed.put_back(changed.older);
    changed.check_that_the_next_one_waits_until_put_back();
  }
  SECTION("also where it was set back to the same before") {
    changed.store_one();
    changed.set_back();
    changed.check_that_the_next_one_waits_until_put_back();
  }
  changed.set_back();
  changed.check_that_the_next_one_waits_until_put_back();
}

TEST_CASE("a change and its end that the database has forgotten hold up nobody once they are put back") {
  Changed changed;
  changed.handler.topics = {"refunds"};
  const auto as_before = inbox::register_handlers(changed.inbox.connection(), {changed.handler});
  changed.store.registrations.note(inbox::read_handler_versions(changed.inbox.connection()));
  changed.set_back();
  changed.put_back(as_before);
  changed.store_one();
}
