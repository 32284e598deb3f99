// A batch that comes faster than handlers take its events.
#include <catch2/catch_test_macros.hpp>

#include "integration/support/inbox.hpp"
#include "integration/support/shard_store.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Stores a batch while memory is full. Returns how often it asked for room.
int questions_for_room(int events, int full_for) {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  auto handler = handler_named("receipt");
  handler.topics = {"orders"};
  inbox::register_handlers(inbox.connection(), {handler});
  Batch batch{inbox};
  batch.at(shard, 0).events(events);
  ShardStore store{inbox};
  store.full_for = full_for;
  CHECK_FALSE(store.store(batch, [] { return false; }).abandoned);
  CHECK(inbox.position("orders") == events);
  CHECK(inbox.pending_events() == events);
  return store.questions_for_room;
}

}  // namespace

TEST_CASE("a large batch waits for room in memory, but not for long; a small one never does") {
  CHECK(questions_for_room(1'000, 0) == 1);
  CHECK(questions_for_room(1'000, 5) == 6);
  const int at_most = questions_for_room(1'000, 1'000'000);
  CHECK(at_most > 6);
  CHECK(at_most < 100);
  CHECK(questions_for_room(10, 1'000'000) == 0);
}
