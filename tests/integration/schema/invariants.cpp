// CHECK constraints of the tables.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

constexpr const char* invariants[] = {
    "shard set halted_reason = 'why'",
    "shard set gap = '[1,3)'",
    "shard set halted_reason = 'why', halted_at = now(), gap = '[1,3)', new_incarnation = 'other'",
    "position set next_offset = first_offset",
    "position set epoch = -1",
    "delivery set pending = '{}'",
    "delivery set pending = '{[0,10001)}'",
    "delivery set events = 0",
    "delivery set attempts = -1",
    "delivery set claims = -1",
    "delivery set owner = gen_random_uuid(), fence = 0",
    "delivery set owner = null, fence = 1",
    "delivery set received_from = received_to + interval '1 s'",
    "outcome set offsets = '{}'",
    "outcome set offsets = '{[0,10001)}'",
    "outcome set outcome = 'lost'",
    "outcome set attempts = -1",
    "failure set attempt = -1",
    "dead_letter set attempts = -1",
    "dead_letter set state = 'alive'",
    "quarantine set reason = 'strange'",
    "quarantine set payload_size = -1",
    "backfill set next_offset = end_offset",
    "backfill_request set rate = 0",
    "backfill_range set next_offset = end_offset",
    "routing set only_row = false",
    "ledger_trim set only_row = false",
    "ledger_generation set frozen_at = now()",
};

void fill(Inbox& inbox) {
  const auto handler = inbox.add_handler("receipt", {"orders"});
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(2).deliver_to(handler).store(inbox.connection());
  const Session::Parameters ids{std::to_string(handler), std::to_string(shard)};
  inbox.database().run("insert into inbox.outcome values ($1::int, $2::int, '{[5,6)}', 'done', 1)", ids);
  inbox.database().run("insert into inbox.backfill values ($1::int, $2::int, 0, 1)", ids);
  inbox.database().run(
      "insert into inbox.backfill_request (handler_id, from_time, to_time, again, offsets) values ($1::int, now(), "
      "now(), false, 1)",
      {ids[0]});
  inbox.database().run("insert into inbox.backfill_range values ($1::int, $2::int, 0, 1, false)", ids);
  inbox.database().run(
      "insert into inbox.failure values (gen_random_uuid(), $1::int, 1, now(), 'app', 'no', interval '1 s')", {ids[0]});
  inbox.database().run(
      "insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, received_at, attempts, "
      "reasons) values ($1::int, gen_random_uuid(), $2::int, 9, 'Happened', now(), 1, '[]')",
      ids);
  inbox.database().run(
      "insert into inbox.quarantine (shard_id, \"offset\", reason, detail, payload_size, digest) values ($1::int, 9, "
      "'no_id', 'none', 0, 0)",
      {ids[1]});
}

}  // namespace

TEST_CASE("a row that breaks an invariant of its table is refused") {
  Inbox inbox;
  fill(inbox);
  for (const std::string change : invariants) {
    CAPTURE(change);
    const std::string table = change.substr(0, change.find(' '));
    REQUIRE(inbox.database().number("select count(*) from inbox." + table) > 0);
    CHECK_NOTHROW(
        inbox.database().run("do $do$ begin update inbox." + change +
                             "; raise exception 'taken'; exception when check_violation then null; end $do$"));
  }
}
