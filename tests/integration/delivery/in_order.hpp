#pragma once
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <string>
#include <vector>

#include "inbox/sequence.hpp"
#include "integration/support/inbox.hpp"

/// A handler that keeps order, for tests of its claims and lanes.
namespace inboxd::support::in_order {

using Numbers = std::vector<std::int32_t>;
using State = inbox::SequenceRead::State;
using Kind = inbox::DeadEvent::State;
using Texts = std::vector<std::string>;

constexpr milliseconds lease{30'000};
constexpr std::int64_t lane = 4711;
constexpr std::int64_t mark_of_nothing = -1;

/// A handler that keeps order, with a single partition, and what its instances do.
struct InOrder {
  explicit InOrder(config::OrderScope scope = config::OrderScope::partition, config::StartAt start = Inbox::now()) {
    if (start.kind == config::StartAt::Kind::beginning) return;
    register_handler(scope, start);
  }

  void register_handler(config::OrderScope scope, config::StartAt start, config::Mode mode = config::Mode::sequential) {
    config::Handler settings = handler_named("receipt");
    settings.mode = mode;
    settings.order_scope = scope;
    settings.start = start;
    inbox::register_handlers(inbox.connection(), {settings});
    handler = static_cast<std::int32_t>(database().number("select handler_id from inbox.handler"));
    sequence = scope == config::OrderScope::handler ? inbox::whole_handler : shard;
  }

  Database& database() { return inbox.database(); }
  inbox::Connection& connection() { return inbox.connection(); }

  /// Stores a run of events; its offsets follow the offsets before.
  inbox::IngestResult store(int events, std::int64_t fence = 0) {
    Batch batch{inbox};
    batch.at(shard, next).events(events).deliver_to(handler, fence == 0 ? milliseconds{0} : lease);
    batch.get().runs.back().sequence = sequence;
    batch.get().runs.back().sequence_fence = fence;
    const auto out = batch.store(connection());
    if (!out.sequence_is_lost) next += events;
    return out;
  }

  Numbers take(const base::Uuid& owner, std::int64_t fence, bool orphans = false, Numbers wanted = {},
               milliseconds how_long = lease) {
    if (wanted.empty() && !orphans) wanted = {sequence};
    return inbox::take_sequences(connection(), owner, handler, fence, how_long, wanted, orphans,
                                 database().text("select order_settings from inbox.handler where handler_id = $1",
                                                 {std::to_string(handler)}));
  }
  void expire() { database().run("update inbox.sequence set leased_until = clock_timestamp() - interval '1 s'"); }
  void make_due() {
    database().run("update inbox.delivery set due_at = clock_timestamp() where due_at < 'infinity' and owner is null");
  }

  inbox::ClaimedInOrder claim(std::int64_t fence = 1, std::int64_t events = 1'000'000, std::int64_t start = -1,
                              std::int64_t mark = mark_of_nothing, std::int64_t mark_offset = -1) {
    return claim({{sequence, fence}}, {{sequence, start, mark, mark_offset}}, events);
  }
  inbox::ClaimedInOrder claim(std::vector<inbox::SequenceKey> owned, std::vector<inbox::SequenceToRead> read,
                              std::int64_t events = 1'000'000) {
    inbox::ClaimInOrderRequest request;
    request.claim.handler_id = handler;
    request.claim.owner = inbox.owner;
    request.claim.fence = base::random_fence();
    request.claim.events = events;
    request.claim.rows = 1'000;
    request.claim.claims_to = max_claims;
    request.owned = std::move(owned);
    request.read = std::move(read);
    return inbox::claim_in_order(connection(), request);
  }
  inbox::ClaimedInOrder claim_lanes(std::int64_t fence = 1) { return claim({{sequence, fence}}, {}); }

  bool settle(const inbox::Settlement& settlement) {
    return inbox::settle(connection(), inbox.owner, {settlement}).empty();
  }

  /// Rows of the lane in their order: offsets, attempts, whether they are due.
  std::string lane_rows() {
    return database().text(
        "select coalesce(string_agg(pending || case when due_at < 'infinity' then ' due' else '' end"
        " || case when owner is not null then ' leased' else '' end, ', '"
        " order by coalesce(ordinal, delivery_id), lower(pending)), '') from inbox.delivery where lane is not null");
  }

  Inbox inbox;
  std::int32_t shard = inbox.add_shard("orders");
  std::int32_t handler = 0;
  std::int32_t sequence = 0;
  std::int64_t next = 0;
  std::int32_t max_claims = 1'000;
};

inline Texts offsets_of(const inbox::ClaimedInOrder& claimed) {
  Texts out;
  for (const auto& run : claimed.claimed.runs) out.push_back(run.pending.text());
  return out;
}

inline State state_of(const inbox::ClaimedInOrder& claimed) {
  REQUIRE(claimed.sequences.size() == 1);
  return claimed.sequences[0].state;
}

inline event::OffsetSet offsets(std::initializer_list<std::int64_t> all) {
  event::OffsetSet out;
  for (const auto offset : all) out.add(offset);
  return out;
}

/// Ends a run: the first event fails, the later events of its key wait, the rest is done.
struct Outcome {
  explicit Outcome(const inbox::LeasedRun& run) : run_{run} {
    out.key = run.key;
    out.is_of_lane = run.lane.has_value();
  }
  Outcome& done(std::initializer_list<std::int64_t> all) {
    out.done = offsets(all);
    return *this;
  }
  Outcome& retry(std::int64_t offset, milliseconds delay) {
    out.retries.push_back({offsets({offset}), delay, "test: no", inbox::FailedKey{lane, "k"}});
    return *this;
  }
  Outcome& wait(std::initializer_list<std::int64_t> all) {
    out.waiting.push_back({lane, offsets(all)});
    return *this;
  }
  Outcome& dead(std::int64_t offset, Kind kind) {
    for (const auto* event : run_.events) {
      if (event->offset == offset) out.dead.push_back({offset, event->event_id, kind, inbox::FailedKey{lane, "k"}});
    }
    return *this;
  }
  inbox::Settlement out;

 private:
  const inbox::LeasedRun& run_;
};

constexpr milliseconds hour{3'600'000};

}  // namespace inboxd::support::in_order
