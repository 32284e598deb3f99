// Settling: outcomes of deliveries, and late reports that change nothing.
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "integration/support/inbox.hpp"
#include "operations/event_queries.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

struct Claimed {
  std::int32_t handler;
  inbox::LeasedRun run;
};

Claimed claimed_run(Inbox& inbox, int events) {
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(events, "{\"order\": 7}", "OrderPlaced").deliver_to(handler);
  batch.store(inbox.connection());
  auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  return {handler, std::move(claimed.runs.at(0))};
}

inbox::RetryGroup retry(const inbox::LeasedRun& run, std::initializer_list<std::size_t> which, milliseconds delay) {
  inbox::RetryGroup out;
  for (const std::size_t i : which) out.offsets.add(run.events[i]->offset);
  out.delay = delay;
  out.last_error = "test.failure: no";
  return out;
}

inbox::FailedAttempt failed(const event::Event& event, int attempt, const std::string& message = "no") {
  return {event.event_id, attempt, "test.failure", message, milliseconds{12}};
}

std::string states(Inbox& inbox) {
  return inbox.database().text(
      "select coalesce(string_agg(state || ':' || n, ' ' order by state), '') from "
      "(select state, count(*) n from inbox.deliveries group by state) x");
}

}  // namespace

TEST_CASE("a done run is deleted and becomes an outcome") {
  Inbox inbox;
  const auto [handler, run] = claimed_run(inbox, 1000);
  CHECK(states(inbox) == "leased:1000");
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {all_done(run)}).empty());
  CHECK(states(inbox) == "done:1000");
  CHECK(inbox.database().number("select count(*) from inbox.delivery") == 0);
  CHECK(inbox.database().text("select offsets || ' ' || attempts from inbox.outcome") == "{[0,1000)} 1");
  CHECK(inbox.pending_events() == 0);
}

TEST_CASE("a settle with a wrong fence, owner or offsets changes nothing and is reported as lost") {
  Inbox inbox;
  const auto [handler, run] = claimed_run(inbox, 10);
  const auto unchanged = [&] {
    return inbox.database().number("select count(*) from inbox.delivery where events = 10 and owner is not null") ==
               1 &&
           inbox.database().number("select count(*) from inbox.outcome") == 0 &&
           inbox.database().number("select count(*) from inbox.failure") == 0 &&
           inbox.database().number("select count(*) from inbox.dead_letter") == 0;
  };
  std::vector<inbox::Settlement> kinds{all_done(run)};
  inbox::Settlement mixed;
  mixed.key = run.key;
  mixed.done.add(0);
  mixed.retries.push_back(retry(run, {1}, milliseconds{10}));
  mixed.failures = {failed(*run.events[1], 1), failed(*run.events[2], 1)};
  mixed.dead.push_back({2, run.events[2]->event_id});
  kinds.push_back(mixed);
  for (const std::int64_t end : {5, 10}) {  // a part, and all that is left after the parts before
    inbox::Settlement part;
    part.key = run.key;
    part.done = event::OffsetSet{{0, end}};
    kinds.push_back(part);
  }

  for (auto settlement : kinds) {
    const auto key = settlement.key;
    CHECK(inbox::settle(inbox.connection(), base::random_uuid(), {settlement}) == std::vector{key});
    CHECK(unchanged());
    settlement.key.fence = key.fence + 1;
    CHECK(inbox::settle(inbox.connection(), inbox.owner, {settlement}) == std::vector{settlement.key});
    CHECK(unchanged());
    settlement.key.fence = key.fence;
    settlement.done.add(event::OffsetRange{500, 501});  // not in the run
    CHECK(inbox::settle(inbox.connection(), inbox.owner, {settlement}) == std::vector{key});
    CHECK(unchanged());
  }
}

// fault: zombie finishes after its lease
TEST_CASE("a zombie that settles after losing its lease changes neither the new lease nor the outcome") {
  Inbox inbox;
  auto [handler, run] = claimed_run(inbox, 1);
  inbox.database().run("update inbox.delivery set due_at = clock_timestamp() - interval '1 s'");
  const auto heir = base::random_uuid();
  const auto taken = claim_due(inbox.connection(), handler, heir);
  REQUIRE(taken.runs.size() == 1);

  CHECK(inbox::settle(*inbox.connect(), inbox.owner, {all_done(run)}).size() == 1);
  CHECK(inbox.database().number("select count(*) from inbox.outcome") == 0);
  CHECK(inbox::settle(inbox.connection(), heir, {all_done(taken.runs[0])}).empty());
  CHECK(inbox::settle(*inbox.connect(), inbox.owner, {all_done(run)}).size() == 1);
  CHECK(inbox.database().number("select sum(inbox.count_of(offsets)) from inbox.outcome") == 1);
}

TEST_CASE("a repeated settlement, as after a commit in doubt, is reported as lost and changes nothing") {
  Inbox inbox;
  const auto [handler, run] = claimed_run(inbox, 10);
  inbox::Settlement mixed;
  mixed.key = run.key;
  mixed.done = event::OffsetSet{{0, 8}};
  mixed.retries.push_back(retry(run, {8}, milliseconds{10}));
  mixed.failures = {failed(*run.events[8], 1), failed(*run.events[9], 1)};
  mixed.dead.push_back({9, run.events[9]->event_id});
  mixed.whole = true;
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {mixed}).empty());
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {mixed}).size() == 1);
  CHECK(inbox.database().number("select sum(inbox.count_of(offsets)) from inbox.outcome where outcome = 'done'") == 8);
  CHECK(inbox.database().number("select count(*) from inbox.failure") == 2);
  CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == 1);
  CHECK(inbox.database().number("select sum(events) from inbox.delivery") == 1);
}

TEST_CASE("events that failed alike are split off into one run and due at its time; their neighbours are done") {
  Inbox inbox;
  const auto [handler, run] = claimed_run(inbox, 10);
  inbox::Settlement settlement;
  settlement.key = run.key;
  settlement.whole = true;
  for (const std::size_t i : {0, 1, 3, 4, 6, 8, 9}) settlement.done.add(run.events[i]->offset);
  settlement.retries = {retry(run, {2, 5}, milliseconds{0}), retry(run, {7}, milliseconds{60'000})};
  for (const std::size_t i : {2, 5, 7}) settlement.failures.push_back(failed(*run.events[i], 1));
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());

  CHECK(states(inbox) == "done:7 due:2 retrying:1");
  CHECK(inbox.database().number("select count(*) from inbox.deliveries where state = 'retrying' and attempts = 1 and "
                                "last_error = 'test.failure: no' and due_at > clock_timestamp() + interval '50 s'") ==
        1);
  CHECK(inbox.database().number("select count(*) from inbox.failures where handler = 'receipt' and attempt = 1 and "
                                "error_class = 'test.failure' and message = 'no' and duration = interval '12 ms'") ==
        3);
  const auto again = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(again.runs.size() == 1);
  CHECK(again.runs[0].pending.text() == "{[2,3),[5,6)}");
  CHECK(again.runs[0].attempts == 1);
  CHECK(again.runs[0].claims == 1);
  CHECK(again.runs[0].events.size() == 2);
}

TEST_CASE("events that the handler has skipped have an outcome of their own, and no failure") {
  Inbox inbox;
  const auto [handler, run] = claimed_run(inbox, 10);
  inbox::Settlement settlement;
  settlement.key = run.key;
  for (const std::size_t i : {0, 1}) settlement.done.add(run.events[i]->offset);
  for (const std::size_t i : {2, 5}) settlement.skipped.add(run.events[i]->offset);
  settlement.retries = {retry(run, {3}, milliseconds{60'000})};
  settlement.failures.push_back(failed(*run.events[3], 1));
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  CHECK(states(inbox) == "done:2 leased:5 retrying:1 skipped:2");
  CHECK(inbox.database().number("select count(*) from inbox.deliveries where state = 'skipped' and attempts = 1 "
                                "and finished_at is not null and last_error is null") == 2);
  CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == 0);
}

TEST_CASE("events that are retried together keep their own error each") {
  Inbox inbox;
  const auto [handler, run] = claimed_run(inbox, 2);
  inbox::Settlement settlement;
  settlement.key = run.key;
  settlement.whole = true;
  settlement.retries = {retry(run, {0, 1}, milliseconds{60'000})};
  settlement.retries[0].last_error.reset();
  settlement.failures = {failed(*run.events[0], 1, "timeout"), failed(*run.events[1], 1, "negative amount")};
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  CHECK(inbox.database().text("select string_agg(d.last_error, ', ' order by e.\"offset\") from inbox.deliveries d "
                              "join inbox.events e using (event_id)") ==
        "test.failure: timeout, test.failure: negative amount");
  const auto history = operations::read_history(
      inbox.connection(),
      {run.events[1]->event_id, run.events[1]->shard_id, run.events[1]->offset, std::nullopt, std::nullopt});
  REQUIRE(history.deliveries.size() == 1);
  CHECK(history.deliveries[0].last_error == "test.failure: negative amount");
}

TEST_CASE("two settlements of one run in one call are refused") {
  Inbox inbox;
  const auto [handler, run] = claimed_run(inbox, 30);
  std::vector<inbox::Settlement> parts(2);
  for (std::size_t i = 0; i < 2; ++i) {
    parts[i].key = run.key;
    parts[i].retries = {retry(run, {i * 10}, milliseconds{0})};
  }
  CHECK_THROWS(inbox::settle(inbox.connection(), inbox.owner, parts));
  CHECK(inbox.database().text("select pending || ' ' || events from inbox.delivery") == "{[0,30)} 30");
}

TEST_CASE("a run may be settled in parts; the rest stays leased") {
  Inbox inbox;
  const auto [handler, run] = claimed_run(inbox, 30);
  for (std::int64_t first : {10, 0}) {
    inbox::Settlement part;
    part.key = run.key;
    part.done = event::OffsetSet{{first, first + 10}};
    CHECK(inbox::settle(inbox.connection(), inbox.owner, {part}).empty());
  }
  CHECK(inbox.database().text("select pending || ' ' || events from inbox.delivery") == "{[20,30)} 10");
  CHECK(states(inbox) == "done:20 leased:10");
  inbox::Settlement last;
  last.key = run.key;
  last.done = event::OffsetSet{{20, 30}};
  last.whole = true;
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {last}).empty());
  CHECK(states(inbox) == "done:30");
}

TEST_CASE("a dead letter keeps a full copy of its event and the error of every attempt") {
  Inbox inbox;
  auto [handler, run] = claimed_run(inbox, 3);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    inbox::Settlement settlement;
    settlement.key = run.key;
    settlement.whole = true;
    if (attempt == 1) settlement.done = event::OffsetSet{{1, 3}};
    settlement.failures = {failed(*run.events[0], attempt, "reason " + std::to_string(attempt))};
    if (attempt < 3) settlement.retries = {retry(run, {0}, milliseconds{0})};
    if (attempt == 3) settlement.dead = {{0, run.events[0]->event_id}};
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
    if (attempt < 3) run = std::move(claim_due(inbox.connection(), handler, inbox.owner).runs.at(0));
  }
  inbox.database().run("truncate inbox.event, inbox.failure");  // it needs neither

  auto& database = inbox.database();
  CHECK(
      database.text("select string_agg(r ->> 'attempt' || ' ' || (r ->> 'error_class') || ' ' || (r ->> 'message'), "
                    "', ' order by (r ->> 'attempt')::int) from inbox.dead_letters, jsonb_array_elements(reasons) r") ==
      "1 test.failure reason 1, 2 test.failure reason 2, 3 test.failure reason 3");
  CHECK(database.text(
            "select handler || ' ' || topic || ' ' || \"offset\" || ' ' || event_type || ' ' || attempts || ' ' "
            "|| encode(payload, 'escape') || ' ' || last_error from inbox.dead_letters") ==
        "receipt orders 0 OrderPlaced 3 {\"order\": 7} reason 3");
  CHECK(states(inbox) == "dead:1 done:2");
  CHECK(database.number("select dead from inbox.backlog where handler = 'receipt'") == 1);
  CHECK(inbox.pending_events() == 0);
}

TEST_CASE("an id that returns with other content after the ledger forgot it has its own dead letter") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  const auto id = base::random_uuid();
  std::int64_t offset = 0;
  for (const char* payload : {"first", "second"}) {
    Batch batch{inbox};
    batch.at(shard, offset).event(id, payload).deliver_to(handler);
    REQUIRE(batch.store(inbox.connection()).stored == 1);
    const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
    inbox::Settlement settlement;
    settlement.key = run.key;
    settlement.whole = true;
    settlement.failures = {failed(*run.events[0], 1, payload)};
    settlement.dead = {{offset++, id}};
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
    inbox.database().run("truncate inbox.ledger");
  }
  CHECK(inbox.database().text(
            "select string_agg(\"offset\" || ' ' || encode(payload, 'escape') || ' ' || last_error, ', ' "
            "order by \"offset\") from inbox.dead_letters") == "0 first first, 1 second second");
}

TEST_CASE("settlements of all kinds share one transaction; a lost settlement does not affect the others") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(30);
  for (std::int64_t i = 0; i < 3; ++i) {
    batch.get().runs.push_back({handler, shard, event::OffsetSet{{i * 10, i * 10 + 10}}, milliseconds{0}});
  }
  batch.store(inbox.connection());
  const auto runs = claim_due(inbox.connection(), handler, inbox.owner).runs;
  REQUIRE(runs.size() == 3);
  inbox::Settlement partly;
  partly.key = runs[1].key;
  partly.retries = {retry(runs[1], {0, 1}, milliseconds{0})};
  auto lost = all_done(runs[2]);
  lost.key.fence ^= 1;

  CHECK(inbox::settle(inbox.connection(), inbox.owner, {all_done(runs[0]), partly, lost}) == std::vector{lost.key});
  CHECK(states(inbox) == "done:10 due:2 leased:18");
}

TEST_CASE("a settle that names a delivery under its old and new fence records only the events of the new fence") {
  Inbox inbox;
  const auto [handler, old] = claimed_run(inbox, 4);
  inbox.database().run("update inbox.delivery set due_at = clock_timestamp() - interval '1 s', claims = 0");
  const auto taken = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(taken.runs.size() == 1);
  const auto& run = taken.runs[0];
  inbox::Settlement late;
  late.key = old.key;
  late.done.add(0);
  late.retries.push_back(retry(old, {1}, milliseconds{10}));
  late.failures = {failed(*old.events[1], 1), failed(*old.events[2], 1)};
  late.dead.push_back({2, old.events[2]->event_id});
  inbox::Settlement now;
  now.key = run.key;
  now.done.add(3);
  now.retries.push_back(retry(run, {2}, milliseconds{10}));
  now.failures = {failed(*run.events[2], 1, "the new one's word")};
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {late, now}) == std::vector{old.key});
  CHECK(inbox.database().text("select pending || ' ' || events from inbox.delivery where owner is not null") ==
        "{[0,2)} 2");
  CHECK(inbox.database().text("select string_agg(pending::text, ' ') from inbox.delivery where owner is null") ==
        "{[2,3)}");
  CHECK(inbox.database().text("select string_agg(outcome || ' ' || offsets, ', ') from inbox.outcome") ==
        "done {[3,4)}");
  CHECK(inbox.database().text("select string_agg(message, ', ') from inbox.failure") == "the new one's word");

  auto rest = all_done(run);
  rest.done = event::OffsetSet{{0, 2}};
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {all_done(old), rest}) == std::vector{old.key});
  CHECK(inbox.database().number("select count(*) from inbox.delivery") == 1);
}

TEST_CASE("many workers that claim and settle at the same time handle each event exactly once") {
  Inbox inbox;
  constexpr int runs = 50;
  constexpr int each = 40;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  for (int i = 0; i < runs; ++i) {
    Batch batch{inbox};
    batch.at(shard, i * each).events(each).deliver_to(handler);
    batch.store(inbox.connection());
  }
  std::vector<std::unique_ptr<inbox::Connection>> connections;
  for (int i = 0; i < 4; ++i) connections.push_back(inbox.connect());
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&, i] {
      const auto owner = base::random_uuid();
      auto& connection = *connections[static_cast<std::size_t>(i)];
      for (int empty = 0; empty < 20;) {
        const auto claimed = claim_due(connection, handler, owner, 30 + i * 17, milliseconds{60'000}, 5);
        empty += claimed.runs.empty() ? 1 : 0;
        for (const auto& run : claimed.runs) {
          inbox::Settlement settlement = all_done(run);
          if (run.attempts == 0 && run.events[0]->offset % 3 == 0) {  // a third of the first attempts fail
            settlement.done.remove(event::OffsetSet{{run.events[0]->offset, run.events[0]->offset + 1}});
            settlement.retries = {retry(run, {0}, milliseconds{0})};
            settlement.failures = {failed(*run.events[0], 1)};
          }
          if (!inbox::settle(connection, owner, {settlement}).empty()) throw std::runtime_error{"a lease was lost"};
        }
      }
    });
  }
  for (auto& worker : workers) worker.join();

  CHECK(inbox.database().number("select sum(inbox.count_of(offsets)) from inbox.outcome") == runs * each);
  CHECK(inbox.database().number("select inbox.count_of(range_agg(r)) from inbox.outcome, unnest(offsets) r") ==
        runs * each);
  CHECK(inbox.database().number("select count(*) from inbox.delivery") == 0);
}
