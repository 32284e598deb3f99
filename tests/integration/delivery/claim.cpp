#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A handler with due runs of a shard.
std::int32_t add_runs(Inbox& inbox, int runs, int events_each, std::string_view payload = "{}") {
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  for (int i = 0; i < runs; ++i) {
    Batch batch{inbox};
    batch.at(shard, static_cast<std::int64_t>(i) * events_each).events(events_each, payload).deliver_to(handler);
    batch.store(inbox.connection());
  }
  return handler;
}

/// Makes every lease expire, as if its owner had crashed long ago.
void expire_leases(Inbox& inbox) {
  inbox.database().run("update inbox.delivery set due_at = clock_timestamp() - interval '1 s' where owner is not null");
}

inbox::ClaimRequest for_bytes(const Inbox& inbox, std::int32_t handler, std::size_t bytes) {
  inbox::ClaimRequest out;
  out.handler_id = handler;
  out.owner = inbox.owner;
  out.lease = milliseconds{60'000};
  out.events = 1'000'000;
  out.rows = 1000;
  out.bytes = bytes;
  return out;
}

std::set<std::int64_t> offsets_of(const std::vector<inbox::LeasedRun>& runs) {
  std::set<std::int64_t> out;
  for (const auto& run : runs) {
    for (const auto* event : run.events) out.insert(event->offset);
  }
  return out;
}

}  // namespace

TEST_CASE("a claim takes due deliveries with their events under a new fence; no other claim gets them meanwhile") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 2, 10);
  const auto other = base::random_uuid();

  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);

  REQUIRE(claimed.runs.size() == 2);
  CHECK(claimed.runs[0].events.front()->offset == 0);
  CHECK(claimed.runs[1].events.front()->offset == 10);
  CHECK(claimed.runs[0].claims == 1);
  CHECK(claimed.runs[0].key.fence != 0);
  CHECK(claimed.runs[0].place->topic == "orders");
  CHECK(claim_due(inbox.connection(), handler, other).runs.empty());
  CHECK(claim_due(inbox.connection(), inbox.add_handler("another"), inbox.owner).runs.empty());

  expire_leases(inbox);
  const auto taken_over = claim_due(inbox.connection(), handler, other);
  REQUIRE(!taken_over.runs.empty());
  CHECK(taken_over.runs[0].key.fence != claimed.runs[0].key.fence);
  CHECK(taken_over.runs[0].claims == 2);
  CHECK(taken_over.runs[0].attempts == 0);  // a crash is no attempt of the event
}

TEST_CASE("two owners that claim at the same time get different deliveries") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 60, 10);
  const auto claim_all = [&](inbox::Connection& connection, const base::Uuid& owner, std::vector<std::int64_t>& got) {
    for (int empty = 0; empty < 3;) {
      const auto claimed = claim_due(connection, handler, owner, 30, milliseconds{60'000}, 3);
      if (claimed.runs.empty()) ++empty;
      for (const auto& run : claimed.runs) {
        for (const auto* event : run.events) got.push_back(event->offset);
      }
    }
  };
  const auto a = inbox.connect();
  const auto b = inbox.connect();
  std::vector<std::int64_t> by_a;
  std::vector<std::int64_t> by_b;
  std::thread one{[&] { claim_all(*a, base::random_uuid(), by_a); }};
  std::thread two{[&] { claim_all(*b, base::random_uuid(), by_b); }};
  one.join();
  two.join();

  CHECK(by_a.size() + by_b.size() == 600);
  std::set<std::int64_t> all{by_a.begin(), by_a.end()};
  all.insert(by_b.begin(), by_b.end());
  CHECK(all.size() == 600);
  WARN("one got " << by_a.size() << " events, the other " << by_b.size());
}

TEST_CASE("a claim skips locked rows instead of waiting for them") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 3, 10);
  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run("begin; select * from inbox.delivery order by delivery_id limit 1 for update");
  CHECK(offsets_of(claim_due(inbox.connection(), handler, inbox.owner).runs).size() == 20);
  holder.run("rollback");
  CHECK(offsets_of(claim_due(inbox.connection(), handler, inbox.owner).runs).size() == 10);
}

TEST_CASE("a claim smaller than a run takes a part of it and leaves the rest due") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 1, 1000);

  const auto first = claim_due(inbox.connection(), handler, inbox.owner, 300);
  CHECK(events_in(first.runs) == 300);
  CHECK(first.runs.at(0).pending.text() == "{[0,300)}");
  CHECK(inbox.database().number("select sum(events) from inbox.delivery where owner is null") == 700);
  CHECK(inbox.database().number("select count(*) from inbox.delivery where events <> inbox.count_of(pending)") == 0);

  const auto rest = claim_due(inbox.connection(), handler, base::random_uuid());
  CHECK(events_in(rest.runs) == 700);
  CHECK(rest.runs.at(0).claims == 1);  // a split is not a crash
}

TEST_CASE("a claim stays near its limit of bytes, the first claim too, and releases the rest uncharged") {
  Inbox inbox;
  constexpr std::size_t each = 16 << 10;
  const auto handler = add_runs(inbox, 128, 8, std::string(each, 'x'));
  const auto request = for_bytes(inbox, handler, 512 << 10);
  for (int i = 0; i < 3; ++i) {
    const auto claimed = inbox::claim(inbox.connection(), request);
    const auto bytes = static_cast<std::size_t>(events_in(claimed.runs)) * each;
    INFO("claim " << i << " read " << bytes << " bytes of events");
    CHECK(bytes >= request.bytes / 2);
    CHECK(bytes <= (i == 0 ? 4 : 2) * request.bytes);
  }
  CHECK(inbox.database().number("select count(*) from inbox.delivery where owner is null and claims > 0") == 0);
}

TEST_CASE("a claim returns the events that it read even if releasing the rest fails, and names the rest") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 40, 100, std::string(4000, 'x'));
  inbox.database().run(
      "create function inbox.refuse() returns trigger language plpgsql as $$ begin raise 'no' using errcode = '55P03'; "
      "end $$; create trigger keeps before update on inbox.delivery for each row "
      "when (old.owner is not null and new.owner is null) execute function inbox.refuse()");
  const auto request = for_bytes(inbox, handler, 2 << 20);
  const auto claimed = inbox::claim(inbox.connection(), request);
  CHECK(claimed.runs.size() >= 1);
  CHECK(claimed.excess.size() == 40 - claimed.runs.size());
  inbox.database().run("drop trigger keeps on inbox.delivery");
  CHECK(inbox::release_leases(inbox.connection(), inbox.owner, claimed.excess) ==
        static_cast<std::int64_t>(claimed.excess.size()));
  CHECK(inbox.database().number("select sum(events) from inbox.delivery where owner is null and claims = 0") ==
        4000 - events_in(claimed.runs));
}

TEST_CASE("a claim never exceeds its limit of events, however the rows are split") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 10, 7);
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner, 25);
  CHECK(events_in(claimed.runs) == 25);
  CHECK(claimed.runs.size() == 4);
  CHECK(inbox.database().number("select sum(events) from inbox.delivery") == 70);
}

TEST_CASE(
    "of older retries and newer fresh events, a claim takes half each, and more of either if the other has less") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 20, 10);
  const auto set_retries = [&](int events) {
    inbox.database().run(
        "update inbox.delivery set owner = null, fence = 0, claims = 0, last_error = null, "
        "attempts = (lower(pending) < $1)::int, "
        "due_at = clock_timestamp() - case when lower(pending) < $1 then interval '1 min' else '0 s' end",
        {std::to_string(events)});
  };
  const auto claims = [&](int events, int rows = 100) {
    inbox::ClaimRequest request = for_bytes(inbox, handler, 64 << 20);
    request.events = events;
    request.rows = rows;
    std::pair<std::size_t, std::size_t> out;  // fresh events, retries
    for (const auto& run : inbox::claim(inbox.connection(), request).runs) {
      (run.attempts == 0 && !run.was_deferred ? out.first : out.second) += run.events.size();
    }
    return out;
  };
  set_retries(100);
  CHECK(claims(50, 3) == std::pair<std::size_t, std::size_t>{25, 25});
  CHECK(claims(200) == std::pair<std::size_t, std::size_t>{75, 75});
  set_retries(10);
  CHECK(claims(50) == std::pair<std::size_t, std::size_t>{40, 10});
  set_retries(190);
  CHECK(claims(50) == std::pair<std::size_t, std::size_t>{10, 40});
  set_retries(100);
  inbox.database().run("update inbox.delivery set attempts = 0, last_error = 'busy: later' where attempts > 0");
  CHECK(claims(50) == std::pair<std::size_t, std::size_t>{25, 25});
  set_retries(100);
  std::size_t fresh = 0;
  for (int i = 0; i < 40; ++i) fresh += claims(1).first;
  CHECK(fresh > 5);
  CHECK(fresh < 35);
}

TEST_CASE("a run with an expired lease is claimed in halves, then singly, without charging an attempt") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 1, 64);
  std::vector<std::size_t> largest;
  while (largest.empty() || largest.back() > 1) {
    const auto claimed = claim_due(inbox.connection(), handler, base::random_uuid());
    std::size_t most = 0;
    for (const auto& run : claimed.runs) {
      most = std::max(most, run.events.size());
      CHECK(run.attempts == 0);
    }
    largest.push_back(most);
    expire_leases(inbox);
  }
  CHECK(largest.at(0) == 64);
  CHECK(largest.at(1) <= 32);
  CHECK(largest.size() <= 12);
  CHECK(inbox.database().number("select sum(events) from inbox.delivery") == 64);
  CHECK(inbox.database().number("select count(*) from inbox.failure") == 0);
}

TEST_CASE("an event that crashes every instance is isolated, and only it is in flight at most crashes") {
  Inbox inbox;
  constexpr std::int64_t culprit = 20;
  const auto handler = add_runs(inbox, 1, 64);
  std::int32_t claims_of_culprit = 0;
  std::int32_t max_of_others = 0;
  int crashes = 0;
  for (bool alive = false; crashes < 12 && inbox.pending_events() > 0;) {
    const auto owner = base::random_uuid();  // the life of an instance that runs events singly
    for (alive = true; alive;) {
      const auto claimed = claim_due(inbox.connection(), handler, owner);
      if (claimed.runs.empty()) break;
      for (const auto& run : claimed.runs) {
        auto& most = run.pending.contains(culprit) && run.events.size() == 1 ? claims_of_culprit : max_of_others;
        most = std::max(most, run.claims);
        if (run.pending.contains(culprit)) alive = false;
        if (alive) inbox::settle(inbox.connection(), owner, {all_done(run)});
        if (!alive) break;
      }
    }
    if (alive) break;
    ++crashes;
    expire_leases(inbox);
  }
  WARN("after " << crashes << " crashes the culprit was claimed " << claims_of_culprit << " times, any other at most "
                << max_of_others << " times");
  CHECK(inbox.pending_events() == 1);
  CHECK(claims_of_culprit > 10);  // the dispatcher's limit for crashes
  CHECK(max_of_others <= 6);
}

TEST_CASE("an event of a long run was alone at a crash only once it was claimed as a suspect of its own") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 1, 1'000);
  std::string claims;
  for (int i = 0; i < 7; ++i) {
    const auto runs = claim_due(inbox.connection(), handler, inbox.owner).runs;
    const auto first = std::ranges::find_if(runs, [](const auto& run) { return run.pending.contains(0); });
    REQUIRE(first != runs.end());
    claims += std::to_string(first->events.size()) + (first->was_alone ? " alone, " : ", ");
    inbox.database().run("delete from inbox.delivery where not pending @> 0::bigint");
    expire_leases(inbox);
  }
  CHECK(claims == "1000, 500, 125, 16, 1, 1 alone, 1 alone, ");
}

// fault: several suspects after a crash, in several partitions
TEST_CASE("an owner with a suspect in flight claims no other suspect, and does not charge the suspects that it skips") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 60, 1);
  inbox.database().run("update inbox.delivery set claims = 3 where lower(pending) < 40");
  inbox::ClaimRequest request;
  request.handler_id = handler;
  request.owner = inbox.owner;
  request.lease = milliseconds{30'000};
  request.events = 1000;
  request.rows = 16;
  const auto suspect = inbox::claim(inbox.connection(), request);
  REQUIRE(suspect.runs.size() == 1);
  CHECK(inbox::is_suspect(suspect.runs[0]));

  request.claims_to = inbox::suspected_after - 1;
  const auto others = inbox::claim(inbox.connection(), request);
  CHECK(others.rows_locked == 16);
  CHECK(others.runs.size() == 16);
  CHECK(inbox::claim(inbox.connection(), request).runs.size() == 4);
  CHECK(inbox::claim(inbox.connection(), request).rows_locked == 0);

  request.claims_to = 1000;
  request.claims_from = inbox::suspected_after;
  CHECK(inbox::claim(inbox.connection(), request).runs.at(0).claims == inbox::suspected_after + 1);
}

TEST_CASE("a released run is due at once and not charged") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 1, 64);
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  std::vector<inbox::LeaseKey> keys;
  for (const auto& run : claimed.runs) keys.push_back(run.key);

  CHECK(inbox::release_leases(inbox.connection(), base::random_uuid(), keys) == 0);  // not theirs
  CHECK(inbox::release_leases(inbox.connection(), inbox.owner, keys) == 1);
  CHECK(inbox::release_leases(inbox.connection(), inbox.owner, keys) == 0);  // not twice

  const auto again = claim_due(inbox.connection(), handler, base::random_uuid());
  REQUIRE(again.runs.size() == 1);
  CHECK(again.runs[0].events.size() == 64);
  CHECK(again.runs[0].claims == 1);
}

TEST_CASE("deliveries of a claim whose answer was lost are released by fence, uncharged") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 4, 10);
  inbox::ClaimRequest request;
  request.handler_id = handler;
  request.owner = inbox.owner;
  request.lease = milliseconds{30'000};
  request.events = 10;
  request.rows = 1;
  for (const std::int64_t fence : {71, 72, 73}) {
    request.fence = fence;
    REQUIRE(inbox::claim(inbox.connection(), request).runs.at(0).key.fence == fence);
  }
  // A lease has expired, and another owner has the third's deliveries.
  const auto other = base::random_uuid();
  inbox.database().run("update inbox.delivery set due_at = clock_timestamp() - interval '1 s' where fence = 71");
  inbox.database().run("update inbox.delivery set owner = $1::uuid where fence = 73", {other.text()});
  CHECK(inbox::release_claims(inbox.connection(), inbox.owner, handler, {71, 73}, milliseconds{2'000}) == 1);
  CHECK(inbox.database().number("select count(*) from inbox.delivery where claims = 0 and owner is null") == 2);
  CHECK(inbox.database().number("select count(*) from inbox.delivery where claims = 1 and fence in (72, 73)") == 2);
}

TEST_CASE("leases in flight are renewed by id and fence, not leases that were lost or are being settled") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 3, 10);
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner, 1000, milliseconds{5000});
  REQUIRE(claimed.runs.size() == 3);
  std::vector<inbox::LeaseKey> keys;
  for (const auto& run : claimed.runs) keys.push_back(run.key);

  CHECK(inbox::renew(inbox.connection(), inbox.owner, keys, milliseconds{60'000}) == 3);
  CHECK(inbox.database().number(
            "select count(*) from inbox.delivery where due_at > clock_timestamp() + interval '50 s'") == 3);
  CHECK(inbox::renew(inbox.connection(), base::random_uuid(), keys, milliseconds{90'000}) == 0);
  auto others = keys;
  for (auto& key : others) ++key.fence;
  CHECK(inbox::renew(inbox.connection(), inbox.owner, others, milliseconds{90'000}) == 0);

  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run("begin; select * from inbox.delivery where delivery_id = " + std::to_string(keys[0].delivery_id) +
             " for update");
  CHECK(inbox::renew(inbox.connection(), inbox.owner, keys, milliseconds{60'000}) == 2);
  holder.run("rollback");
  inbox::settle(inbox.connection(), inbox.owner, {all_done(claimed.runs[0])});
  CHECK(inbox::renew(inbox.connection(), inbox.owner, keys, milliseconds{60'000}) == 2);
}

TEST_CASE("deliveries whose events were purged are found and settled as skipped") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 2, 10);
  inbox.database().run("delete from inbox.event where \"offset\" < 10");
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  CHECK(claimed.runs.size() == 1);
  REQUIRE(claimed.empty.size() == 1);

  inbox::settle_skipped(inbox.connection(), inbox.owner, claimed.empty);
  CHECK(inbox.database().text("select offsets from inbox.outcome where outcome = 'skipped'") == "{[0,10)}");
  CHECK(inbox.database().number("select count(*) from inbox.delivery") == 1);
}

TEST_CASE("a claim stays near its limit of bytes and releases the rest at once") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 40, 100, std::string(4000, 'x'));
  const auto request = for_bytes(inbox, handler, 2 << 20);
  const auto claimed = inbox::claim(inbox.connection(), request);
  const auto taken = events_in(claimed.runs);
  WARN("of 4000 events of 4 kB each a claim of 2 MiB took " << taken);
  CHECK(taken >= 100);
  CHECK(taken <= 2000);
  CHECK(inbox.database().number("select sum(events) from inbox.delivery where owner is null and claims = 0") ==
        4000 - taken);
  CHECK(events_in(claim_due(*inbox.connect(), handler, base::random_uuid()).runs) == 4000 - taken);
}

TEST_CASE("runs with gaps are read exactly, however many ranges they have") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(100);
  event::OffsetSet odd;
  for (std::int64_t offset = 1; offset < 100; offset += 2) odd.add(offset);
  batch.get().runs.push_back({handler, shard, odd, milliseconds{0}});
  batch.store(inbox.connection());

  const auto part = claim_due(inbox.connection(), handler, inbox.owner, 20);
  CHECK(*offsets_of(part.runs).rbegin() == 39);
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  CHECK(offsets_of(part.runs).size() == 20);
  CHECK(offsets_of(claimed.runs).size() == 30);
  CHECK(*offsets_of(claimed.runs).begin() == 41);
}

TEST_CASE("a claim of runs whose events are mostly done reads little more than the rest") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 20, 1000, std::string(1000, 'x'));
  const auto rows_read = [&](const std::function<std::int64_t()>& work) {
    const std::string sql =
        "select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read) from pg_stat_user_tables t join pg_inherits i on "
        "i.inhrelid = t.relid where i.inhparent = 'inbox.event'::regclass";
    inbox.end_sessions();
    const auto before = inbox.database().number(sql);
    const auto events = work();
    inbox.connection().close();
    std::int64_t after = before;
    wait_until("the statistics are seen", [&] { return (after = inbox.database().number(sql)) >= before + events; });
    return std::pair{events, after - before};
  };
  const auto leave_interval = [&](int of) {  // the offsets of each run, a multirange of many ranges
    inbox.database().run(
        "update inbox.delivery d set due_at = clock_timestamp(), owner = null, fence = 0, claims = 0, "
        "events = 1000 / " +
        std::to_string(of) +
        ", pending = (select range_agg(int8range(o, o + 1)) "
        "from generate_series(lower(d.pending) / 1000 * 1000, lower(d.pending) / 1000 * 1000 + 999, " +
        std::to_string(of) + ") o)");
  };
  for (const int of : {200, 50, 5, 2}) {
    leave_interval(of);
    const auto [events, read] = rows_read([&] {
      const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
      CHECK(claimed.runs.size() == 20);
      return events_in(claimed.runs);
    });
    WARN("of 20 runs of 1000 events with one in " << of << " left, a claim of " << events << " reads " << read);
    CHECK(events == 20 * 1000 / of);
    CHECK(read <= 4 * events);
  }
}

TEST_CASE("several queries in a row share one deadline, however long each may take") {
  Inbox inbox;
  const auto handler = add_runs(inbox, 1, 10);
  Session other{inbox.database().url(), inbox.database().schema()};
  other.run("begin");
  other.run("lock table inbox.delivery in access exclusive mode");
  const auto began = std::chrono::steady_clock::now();
  inbox.connection().set_end(began);
  const auto failure = failure_of([&] { claim_due(inbox.connection(), handler, inbox.owner); });
  CHECK(failure.fault != inbox::Fault::retry);  // cut by the daemon, not refused after lock_timeout
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{5});
  other.run("rollback");
  inbox.connection().set_end(std::chrono::steady_clock::time_point::max());
}
