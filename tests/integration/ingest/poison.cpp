#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "event/headers.hpp"
#include "integration/support/inbox.hpp"
#include "integration/support/shard_store.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// The result of a batch that is abandoned after some tries.
struct StoreAttempt {
  StoreAttempt(Inbox& inbox, const Batch& events, int behind = 0) : store{inbox} {
    int waits = 0;
    const auto stored = store.store(
        events, [&] { return ++waits > 3; }, behind);
    abandoned = stored.abandoned;
    has_moved = stored.mismatched.empty();
  }

  ShardStore store;
  bool abandoned = false;
  bool has_moved = false;
};

void refuse_where(Inbox& inbox, const std::string& condition) {
  inbox.database().run(
      "create function inbox.refuse() returns trigger language plpgsql as $$ begin if " + condition +
      " then raise exception 'no' using errcode = '22P02'; end if; return new; end $$; "
      "create trigger refuse before insert on inbox.event for each row execute function inbox.refuse()");
}

}  // namespace

TEST_CASE("a database that refuses every event as bad data stops the batch, and quarantines nothing") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const int events = GENERATE(1, 3, 20, 70, 500);
  Batch batch{inbox};
  batch.at(shard, 0).events(events);
  SECTION("each row") { refuse_where(inbox, "true"); }
  SECTION("even without any row") {
    inbox.database().run(
        "create function inbox.refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using "
        "errcode "
        "= '22P02'; end $$; create trigger refuse before insert on inbox.position for each row execute function "
        "inbox.refuse()");
  }
  const StoreAttempt stored{inbox, batch};
  CHECK(stored.abandoned);
  CHECK(inbox.database().number("select count(*) from inbox.quarantine") == 0);
  CHECK(inbox.position("orders") == 0);
}

TEST_CASE("any number of bad records in a row go to quarantine, and the good records are stored") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const int first = GENERATE(0, 150);
  refuse_where(inbox, "new.payload = 'poison'::bytea");
  Batch batch{inbox};
  batch.at(shard, 0).events(first).events(100, "poison").events(50);
  const StoreAttempt stored{inbox, batch};
  CHECK_FALSE(stored.abandoned);
  CHECK(inbox.database().number("select count(*) from inbox.quarantine where reason = 'poison'") == 100);
  CHECK(inbox.database().number("select count(*) from inbox.event") == first + 50);
}

TEST_CASE("a batch that does not move its position counts nothing: its records are read again") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 10);
  const int behind = GENERATE(0, 1);
  Batch batch{inbox};
  batch.at(shard, 10 - behind).reject("no_id").events(1);
  const StoreAttempt stored{inbox, batch, behind};
  CHECK(stored.has_moved == (behind == 0));
  const std::uint64_t counted = behind == 0 ? 1 : 0;
  CHECK(stored.store.counts.stored == counted);
  CHECK(stored.store.counts.quarantined == counted);
  CHECK(stored.store.counts.decoded[0][0] == counted);
  CHECK(inbox.database().number("select count(*) from inbox.quarantine") == static_cast<std::int64_t>(counted));
}

TEST_CASE("a single bad record goes to quarantine, too") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  refuse_where(inbox, "new.payload = 'poison'::bytea");
  Batch batch{inbox};
  batch.at(shard, 0).events(GENERATE(1, 3), "poison");
  const StoreAttempt stored{inbox, batch};
  CHECK_FALSE(stored.abandoned);
  CHECK(inbox.position("orders") == inbox.database().number("select count(*) from inbox.quarantine"));
  CHECK(inbox.position("orders") > 0);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 0);
}

TEST_CASE("quarantine keeps the headers that fit of a record that is too large, and all headers of others") {
  event::Record record;
  const std::string large(5'000, 'x');
  record.headers = {{"id", "1"}, {"a", large}, {"b", large}, {"c", "small"}};
  base::Arena arena;
  const auto headers_kept = [&](bool with_payload) {
    return event::unpack_headers(*consumer::quarantined(record, 1, "too_large", "why", with_payload, arena).headers);
  };
  CHECK(headers_kept(true) == record.headers);
  CHECK(headers_kept(false) == std::vector<event::Header>{record.headers[0], record.headers[1]});
}
