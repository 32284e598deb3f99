// When deliveries are due by the database's clock, and the order of claims.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>
#include <thread>

#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A handler with due single-event runs of a shard.
std::int32_t add_events(Inbox& inbox, int count) {
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(count);
  for (const auto& event : batch.events()) {
    batch.get().runs.push_back({handler, shard, event::OffsetSet{{event.offset, event.offset + 1}}, milliseconds{0}});
  }
  batch.store(inbox.connection());
  return handler;
}

/// The offset of the event that a claim of a single row takes.
std::int64_t next_of(Inbox& inbox, std::int32_t handler) {
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner, 1, milliseconds{60'000}, 1);
  return claimed.runs.size() == 1 ? claimed.runs.front().events.front()->offset : -1;
}

/// Runs `work` while another session locks the table. Returns the database's time at which the lock was released; the
/// transaction of `work` began before.
std::string time_unblocked(Inbox& inbox, const std::string& table, const std::function<void()>& work) {
  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run("begin; lock table inbox." + table + " in exclusive mode");
  std::thread working{work};
  inbox.database().wait_for(
      "it waits", "select count(*) from pg_locks where relation = 'inbox." + table + "'::regclass and not granted", 1);
  const auto now = inbox.database().text("select clock_timestamp()");
  holder.run("rollback");
  working.join();
  return now;
}

}  // namespace

TEST_CASE("the delivery that has been due longest is claimed first, whatever its offset") {
  Inbox inbox;
  const auto handler = add_events(inbox, 3);
  inbox.database().run(
      "update inbox.delivery set due_at = clock_timestamp() - case lower(pending) when 0 then interval '1 min' "
      "when 1 then interval '3 min' else interval '2 min' end");
  CHECK(next_of(inbox, handler) == 1);
  CHECK(next_of(inbox, handler) == 2);
  CHECK(next_of(inbox, handler) == 0);
}

TEST_CASE("reading due times reports open transactions that create deliveries, and no others") {
  Inbox inbox;
  const auto handler = add_events(inbox, 1);
  const auto read = [&] { return inbox::read_due(inbox.connection(), handler, std::nullopt, true); };
  const auto begun = [&](Session& session, const std::string& sql) {
    session.run("begin");
    session.run(sql);
    return static_cast<std::uint64_t>(session.number("select pg_current_xact_id()::text::bigint"));
  };
  Session stranger{inbox.database().url(), inbox.database().schema()};
  const auto strange = begun(stranger, "create table inbox.of_a_stranger (n int)");
  auto reading = read();
  CHECK(reading.xmin <= strange);
  CHECK(reading.writers.value() > strange);
  Session reader{inbox.database().url(), inbox.database().schema()};
  begun(reader, "select * from inbox.delivery for update");  // creates none
  CHECK(read().writers.value() > strange);

  Session writer{inbox.database().url(), inbox.database().schema()};
  const auto ours = begun(writer,
                          "insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, "
                          "received_from, received_to) select handler_id, shard_id, '{[7,8)}', 1, "
                          "clock_timestamp(), received_from, received_to from inbox.delivery");
  CHECK(read().writers.value() == ours);
  writer.run("savepoint s; update inbox.delivery set events = 1 where pending = '{[7,8)}'");
  CHECK(read().writers.value() == ours);
  writer.run("commit");
  reading = read();
  CHECK(reading.writers.value() > ours);
  CHECK(reading.xmin <= strange);
  CHECK_FALSE(inbox::read_due(inbox.connection(), handler, std::nullopt, false).writers);

  // A transaction that begins during the reading has a later id than the reading's.
  reader.run("rollback");
  std::atomic<bool> stops{false};
  std::thread beginning{[&] {
    Session session{inbox.database().url(), inbox.database().schema()};
    while (!stops) session.run("update inbox.delivery set events = events");
  }};
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 500; ++i) least = std::min(least, read().writers.value_or(0));
  stops = true;
  beginning.join();
  CHECK((least == 0 || least > ours));  // 0: none has an id yet
}

TEST_CASE("an old event does not wait for a thousand newer events, even if their rows are older") {
  Inbox inbox;
  constexpr int newer = 1'000;
  const auto handler = add_events(inbox, newer + 1);
  inbox.database().run("update inbox.delivery set due_at = clock_timestamp() - interval '1 h' where lower(pending) = " +
                       std::to_string(newer));
  CHECK(next_of(inbox, handler) == newer);
}

TEST_CASE("leases and retry delays have their full length, however long a statement waited") {
  Inbox inbox;
  const auto due_after = [&](const std::string& began, const std::string& wait) {
    return inbox.database().number(
        "select count(*) from inbox.delivery where due_at >= $1::timestamptz + $2::interval and "
        "due_at < clock_timestamp() + $2::interval",
        {began, wait});
  };
  SECTION("of born-leased deliveries, also with a duplicate") {
    const auto handler = inbox.add_handler("receipt");
    const auto shard = inbox.add_shard("orders");
    const auto known = base::random_uuid();
    Batch{inbox}.at(shard, 0).event(known).store(inbox.connection());
    Batch batch{inbox};
    batch.at(shard, 1).events(2);
    if (GENERATE(false, true)) batch.event(known);
    batch.deliver_to(handler, milliseconds{60'000});
    const auto began = time_unblocked(inbox, "ledger", [&] { batch.store(inbox.connection()); });
    CHECK(due_after(began, "60 s") == 1);
  }
  SECTION("of claimed deliveries, and of retries") {
    const auto handler = add_events(inbox, 1);
    inbox::Claimed claimed;
    const auto claim = [&] { claimed = claim_due(inbox.connection(), handler, inbox.owner, 1, milliseconds{60'000}); };
    CHECK(due_after(time_unblocked(inbox, "delivery", claim), "60 s") == 1);

    REQUIRE(claimed.runs.size() == 1);
    inbox::Settlement failed;
    failed.key = claimed.runs.front().key;
    failed.retries.push_back({claimed.runs.front().pending, milliseconds{90'000}, "busy"});
    const auto settle = [&] { inbox::settle(inbox.connection(), inbox.owner, {failed}); };
    CHECK(due_after(time_unblocked(inbox, "delivery", settle), "90 s") == 1);
  }
}

TEST_CASE("a question for all handlers finds those with deliveries that are due, from their low-water mark on") {
  Inbox inbox;
  const auto due = add_events(inbox, 2);
  const auto idle = inbox.add_handler("idle", {"nothing"});
  using Marks = std::vector<std::optional<event::Microseconds>>;
  const auto found = [&](const Marks& marks) { return inbox::find_due(inbox.connection(), {due, idle}, marks); };
  CHECK(found({std::nullopt, std::nullopt}) == std::vector{due});
  const auto later = inbox.database().number("select (extract(epoch from now() + interval '1 h') * 1000000)::bigint");
  CHECK(found({later, std::nullopt}).empty());
  claim_due(inbox.connection(), due, inbox.owner);
  CHECK(found({std::nullopt, std::nullopt}).empty());
}
