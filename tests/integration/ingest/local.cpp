// Enqueued events are stored and deleted together, or neither.
#include <catch2/catch_test_macros.hpp>

#include "inbox/local_events.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A local topic with two enqueued events, and the batch that stores them.
struct Enqueued {
  Enqueued() {
    inbox::declare_local(inbox.connection(), {{"signup", 1 << 20}});
    position = inbox::local_positions(inbox.connection()).at(0);
    inbox.database().run("select inbox.enqueue_batch('signup', '{a,b}', '{1,2}'::jsonb[], key => '{k,k}')");
    rows.emplace(inbox::read_local(inbox.connection(), {}, 0, {100, 1 << 20}));
    batch.owner = inbox.owner;
    batch.fence = 1;
    batch.routing_version = inbox.routing_version();
    batch.steps = {{position.shard_id, position.epoch, position.next_offset, position.next_offset + rows->size(), -1}};
    for (int i = 0; i < rows->size(); ++i) {
      event::Event event = rows->event(i);
      event.offset = position.next_offset + i;
      batch.events.push_back(event);
      batch.staged.push_back({rows->id(i), event.event_id});
    }
  }
  std::int64_t count(const std::string& table) {
    return inbox.database().number("select count(*) from inbox." + table);
  }

  Inbox inbox;
  inbox::LocalPosition position;
  std::optional<inbox::LocalRows> rows;
  inbox::IngestBatch batch;
};

}  // namespace

TEST_CASE("a batch of enqueued events deletes their rows, and changes nothing when it is repeated") {
  Enqueued enqueued;
  REQUIRE(enqueued.rows->size() == 2);
  CHECK(inbox::ingest(enqueued.inbox.connection(), enqueued.batch).stored == 2);
  CHECK(enqueued.count("local_event") == 0);
  enqueued.inbox.database().run("select inbox.enqueue('signup', 'c', '3')");
  const auto again = inbox::ingest(enqueued.inbox.connection(), enqueued.batch);
  CHECK(again.mismatched == std::vector{enqueued.position.shard_id});
  CHECK(enqueued.count("event") == 2);
  CHECK(enqueued.count("local_event") == 1);
  CHECK(inbox::local_positions(enqueued.inbox.connection()).at(0).next_offset == 2);
}

TEST_CASE("a batch whose position was moved leaves the enqueued rows alone") {
  Enqueued enqueued;
  enqueued.batch.steps[0].expected = 5;
  enqueued.batch.steps[0].next = 7;
  CHECK(inbox::ingest(enqueued.inbox.connection(), enqueued.batch).mismatched.size() == 1);
  CHECK(enqueued.count("local_event") == 2);
  CHECK(enqueued.count("event") == 0);
}

TEST_CASE("an enqueued event that the database lost is not stored, although another has its number") {
  Enqueued enqueued;
  SECTION("its row is gone") { enqueued.inbox.database().run("delete from inbox.local_event where event_type = 'b'"); }
  SECTION("another has its number") {
    enqueued.inbox.database().run("update inbox.local_event set event_id = gen_random_uuid() where event_type = 'b'");
  }
  const auto left = enqueued.count("local_event");
  CHECK(inbox::ingest(enqueued.inbox.connection(), enqueued.batch).mismatched.size() == 1);
  CHECK(enqueued.count("event") == 0);
  CHECK(enqueued.count("local_event") == left);
  CHECK(inbox::local_positions(enqueued.inbox.connection()).at(0).next_offset == 0);
}
