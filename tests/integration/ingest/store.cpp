// What an ingest transaction writes, and what repeating it does not.
#include <catch2/catch_test_macros.hpp>

#include "event/headers.hpp"
#include "integration/support/inbox.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a batch becomes events, ledger rows, a position and a delivery in one transaction") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders", 3, 100);
  Batch batch{inbox};
  batch.at(shard, 100).events(5).skip(2).events(1).deliver_to(handler);

  const auto result = batch.store(inbox.connection());

  CHECK(result.stored == 6);
  CHECK(result.duplicates == 0);
  CHECK(result.mismatched.empty());
  CHECK(inbox.position("orders", 3) == 108);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 6);
  CHECK(inbox.database().number("select count(*) from inbox.ledger") == 6);
  CHECK(inbox.database().text("select pending from inbox.delivery where owner is null") == "{[100,105),[107,108)}");
  CHECK(inbox.database().number("select events from inbox.delivery") == 6);
  // The ledger's rows have a subtransaction's id: that insert may fail without the rest.
  CHECK(inbox.database().number("select count(distinct xmin::text) from ("
                                "select xmin from inbox.event union all select xmin from inbox.delivery union all "
                                "select xmin from inbox.position where first_offset >= 0) x") == 1);
}

TEST_CASE("a message seen twice is stored once") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  const auto id = base::random_uuid();
  Batch first{inbox};
  first.at(shard, 0).event(id, "paid").deliver_to(handler);
  first.store(inbox.connection());

  Batch second{inbox};
  second.at(shard, 1).event(id, "paid").deliver_to(handler);
  const auto result = second.store(inbox.connection());

  CHECK(result.stored == 0);
  CHECK(result.duplicates == 1);
  CHECK(result.conflicts == 0);
  CHECK(result.born.at(0).delivery_id == 0);
  CHECK(inbox.position("orders") == 2);  // duplicates move the position, too
  CHECK(inbox.database().number("select count(*) from inbox.event") == 1);
  CHECK(inbox.database().number("select count(*) from inbox.delivery") == 1);
}

// fault: same id twice in a batch
TEST_CASE("an id twice in one batch is one event") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  const auto id = base::random_uuid();
  Batch batch{inbox};
  batch.at(shard, 0).events(1).event(id, "same").event(id, "same").events(1).event(id, "same").deliver_to(handler);

  const auto result = batch.store(inbox.connection());

  CHECK(result.stored == 3);
  CHECK(result.duplicates == 2);
  CHECK(result.conflicts == 0);
  REQUIRE(result.born.at(0).pending.has_value());
  CHECK(result.born.at(0).pending->text() == "{[0,2),[3,4)}");
  CHECK(inbox.database().text("select pending from inbox.delivery") == "{[0,2),[3,4)}");
  CHECK(inbox.database().text("select string_agg(\"offset\"::text, ',' order by \"offset\") from inbox.event") ==
        "0,1,3");
}

TEST_CASE("duplicates leave only new events in a run, and a run without new events is not created") {
  Inbox inbox;
  const auto one = inbox.add_handler("one");
  const auto two = inbox.add_handler("two");
  const auto shard = inbox.add_shard("orders");
  Batch first{inbox};
  first.at(shard, 0).events(4).deliver_to(one).deliver_to(two);
  first.store(inbox.connection());

  Batch second{inbox};
  second.at(shard, 4);
  second.event(first.events()[0].event_id).deliver_to(one);
  second.events(1).event(first.events()[3].event_id).deliver_to(two, milliseconds{5000});
  const auto result = second.store(inbox.connection());

  CHECK(result.stored == 1);
  CHECK(result.duplicates == 2);
  CHECK(result.born.at(0).delivery_id == 0);
  CHECK(result.born.at(1).delivery_id != 0);
  REQUIRE(result.born.at(1).pending.has_value());
  CHECK(result.born.at(1).pending->text() == "{[5,6)}");
  CHECK(inbox.database().number("select events from inbox.delivery where delivery_id = $1",
                                {std::to_string(result.born[1].delivery_id)}) == 1);
}

TEST_CASE("a run is born leased to the instance that asks for it, or due for any instance") {
  Inbox inbox;
  const auto leased = inbox.add_handler("leased");
  const auto due = inbox.add_handler("due");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(3).deliver_to(leased, milliseconds{60'000}).deliver_to(due);
  const auto result = batch.store(inbox.connection());

  CHECK(inbox.database().number("select count(*) from inbox.delivery where owner = $1 and fence = $2 and claims = 1 "
                                "and due_at > clock_timestamp() + interval '50 s' and delivery_id = $3",
                                {inbox.owner.text(), std::to_string(batch.get().fence),
                                 std::to_string(result.born.at(0).delivery_id)}) == 1);
  CHECK(claim_due(inbox.connection(), leased, base::random_uuid()).runs.empty());
  const auto claimed = claim_due(inbox.connection(), due, base::random_uuid());
  REQUIRE(claimed.runs.size() == 1);
  CHECK(claimed.runs[0].events.size() == 3);
}

// fault: tombstone
// fault: empty value
// fault: null key
// fault: repeated or null headers
TEST_CASE("null, empty and arbitrary bytes are stored unchanged") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  const std::string hostile{"\0\xff\"{\\u0000}\x7f", 12};
  Batch batch{inbox};
  batch.at(shard, 0).events(4).deliver_to(handler);
  auto& events = batch.get().events;
  const std::string headers =
      event::pack_headers({{"trace", "a"}, {"empty", ""}, {"null", std::nullopt}, {"trace", "b"}, {"raw", "\xff\x01"}});
  events[0].payload = std::nullopt;  // a tombstone
  events[0].key = std::nullopt;
  events[1].payload = "";
  events[1].key = "";
  events[2].payload = hostile;
  events[2].key = hostile;
  events[2].headers = headers;
  events[3].occurred_at = 253'402'300'799'000'000;  // the year 9999
  batch.store(inbox.connection());

  auto& database = inbox.database();
  CHECK(database.number("select count(*) from inbox.event where payload is null and key is null and headers is null") ==
        1);
  CHECK(database.number("select count(*) from inbox.event where payload = '' and key = ''") == 1);
  CHECK(database.text("select headers from inbox.events where \"offset\" = 2") ==
        R"({"raw": {"base64": "/wE="}, "null": null, "empty": "", "trace": "b"})");
  CHECK(database.text(
            "select extract(year from occurred_at at time zone 'UTC')::int from inbox.event where \"offset\" = 3") ==
        "9999");

  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(claimed.runs.size() == 1);
  const auto& read = claimed.runs[0].events;
  REQUIRE(read.size() == 4);
  CHECK_FALSE(read[0]->payload.has_value());
  CHECK_FALSE(read[0]->key.has_value());
  CHECK(read[1]->payload == std::string_view{""});
  CHECK(read[2]->payload == std::string_view{hostile});
  CHECK(read[2]->headers == std::string_view{headers});
  CHECK(read[3]->occurred_at == events[3].occurred_at);
}

TEST_CASE("records that cannot become events go to quarantine, raw, and the position moves past them") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1).reject("no_id").reject("too_large").events(1);
  const auto result = batch.store(inbox.connection());

  CHECK(result.stored == 2);
  CHECK(inbox.position("orders") == 4);
  CHECK(inbox.database().text("select string_agg(topic || ':' || \"offset\" || ':' || reason || ':' || "
                              "encode(payload, 'escape'), ' ' order by \"offset\") from inbox.quarantined") ==
        "orders:1:no_id:raw orders:2:too_large:raw");
}

TEST_CASE("the largest batch that the configuration allows, with the largest record, is stored") {
  // PostgreSQL accepts no message of 1 GiB. Without --long, a sixteenth, for small machines.
  const std::size_t part = is_long() ? 1 : 16;
  const std::size_t batch_bytes = (256u << 20) / part, payload_limit = (128u << 20) / part, each = 1u << 20;
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  std::string large(payload_limit, ' ');
  std::uint32_t random = 1;
  for (char& c : large) c = static_cast<char>((random = random * 1'664'525 + 1'013'904'223) >> 24);
  Batch batch{inbox};
  batch.at(shard, 0);
  for (std::size_t taken = 0; taken < batch_bytes; taken += each) {
    batch.event(base::random_uuid(), std::string_view{large}.substr(0, each));
  }
  batch.event(base::random_uuid(), large).deliver_to(handler);
  auto& last = batch.get().events.back();
  last.key = large;
  last.headers = large;
  const auto result = batch.store(inbox.connection());
  CHECK(result.stored == static_cast<std::int64_t>(batch_bytes / each) + 1);
  CHECK(inbox.database().number("select max(octet_length(payload)) from inbox.event") ==
        static_cast<std::int64_t>(payload_limit));
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  CHECK(claimed.runs.size() == 1);
}
