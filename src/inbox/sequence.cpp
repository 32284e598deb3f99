#include "inbox/sequence.hpp"

#include <utility>

#include "inbox/array_parameter.hpp"
#include "inbox/claimed_rows.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/value_of.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;
using Effect = Connection::Access::Effect;

struct SequenceArrays {
  ArrayParameter sequence{Type::int4}, fence{Type::int8};
  explicit SequenceArrays(const std::vector<SequenceKey>& keys) {
    for (const SequenceKey& key : keys) {
      sequence.add(key.sequence);
      fence.add(key.fence);
    }
  }
};

SequenceRead::State state_of(std::string_view word) {
  using enum SequenceRead::State;
  return value_of<SequenceRead::State>(
      word, {{"end", end}, {"more", more}, {"leased", leased}, {"waits", waits}, {"lost", lost}, {"ended", ended}});
}

pqxx::result ask_claim(Connection::Access& access, const ClaimInOrderRequest& request) {
  if (const auto& window = request.window) {
    const ClaimRequest& claim = request.claim;
    return access.call(statements::claim_window,
                       pqxx::params{claim.handler_id, claim.owner.text(), claim.fence, window->fence, claim.events,
                                    claim.rows, window->groups_by_key, claim.claims_from, claim.claims_to,
                                    window->call_events, window->max_crashes});
  }
  SequenceArrays owned{request.owned};
  ArrayParameter sequence{Type::int4}, start{Type::int8}, mark{Type::int8}, mark_offset{Type::int8};
  for (const SequenceToRead& read : request.read) {
    sequence.add(read.sequence);
    start.add(read.start);
    mark.add(read.mark);
    mark_offset.add(read.mark_offset);
  }
  const ClaimRequest& claim = request.claim;
  return access.call(
      statements::claim_in_order,
      pqxx::params{claim.handler_id, claim.owner.text(), claim.fence, claim.events, claim.rows, claim.not_before,
                   owned.sequence.finish(), owned.fence.finish(), sequence.finish(), start.finish(), mark.finish(),
                   mark_offset.finish(), claim.claims_from, claim.claims_to});
}

ClaimedRow read_row(const pqxx::row& row, const ClaimRequest& claim) {
  ClaimedRow out;
  out.run.handler_id = claim.handler_id;
  out.run.sequence = row[1].as<std::int32_t>();
  out.run.key = {row[4].as<std::int64_t>(), claim.fence};
  out.run.shard_id = row[5].as<std::int32_t>();
  out.run.pending = event::OffsetSet::parse(row[6].view()).value_or(event::OffsetSet{});
  out.events = row[7].as<std::int64_t>();
  out.run.attempts = row[8].as<std::int32_t>();
  out.run.claims = row[9].as<std::int32_t>();
  if (!row[10].is_null()) out.received_from = row[10].as<event::Microseconds>();
  if (!row[11].is_null()) out.received_to = row[11].as<event::Microseconds>();
  out.run.ordinal = row[12].as<std::int64_t>();
  if (!row[13].is_null()) out.run.lane = row[13].as<std::int64_t>();
  if (!row[14].is_null()) out.run.group = row[14].as<std::int64_t>();
  out.run.never_expires = row[15].as<bool>();
  out.run.was_alone = row[16].as<bool>();
  return out;
}

}  // namespace

std::vector<std::int32_t> take_sequences(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                                         std::int64_t fence, std::chrono::milliseconds lease,
                                         const std::vector<std::int32_t>& wanted, bool orphans,
                                         const std::string& order) {
  auto shards = array_of(Type::int4, wanted);
  std::vector<std::int32_t> out;
  for (const auto& row : connection.access().call(
           statements::take_sequences,
           pqxx::params{handler_id, owner.text(), fence, lease.count(), shards.finish(), orphans, order})) {
    out.push_back(row[0].as<std::int32_t>());
  }
  return out;
}

std::vector<RenewedSequence> renew_sequences(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                                             const std::vector<SequenceKey>& keys, std::chrono::milliseconds lease) {
  std::vector<RenewedSequence> out;
  if (keys.empty()) return out;
  SequenceArrays arrays{keys};
  for (const auto& row : connection.access().run(
           statements::renew_sequences,
           pqxx::params{handler_id, owner.text(), arrays.sequence.finish(), arrays.fence.finish(), lease.count()})) {
    out.push_back({row[0].as<std::int32_t>(), row[1].as<bool>(), row[2].as<std::optional<std::int64_t>>()});
  }
  return out;
}

std::vector<SequenceKey> find_lost_sequences(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                                             const std::vector<SequenceKey>& keys) {
  SequenceArrays arrays{keys};
  std::vector<SequenceKey> out;
  for (const auto& row : connection.access().run(
           statements::find_lost_sequences,
           pqxx::params{handler_id, owner.text(), arrays.sequence.finish(), arrays.fence.finish()})) {
    out.push_back({row[0].as<std::int32_t>(), row[1].as<std::int64_t>()});
  }
  return out;
}

void release_sequences(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                       const std::vector<SequenceKey>& keys) {
  if (keys.empty()) return;
  SequenceArrays arrays{keys};
  connection.access().run(statements::release_sequences,
                          pqxx::params{handler_id, owner.text(), arrays.sequence.finish(), arrays.fence.finish()});
}

ClaimedInOrder claim_in_order(Connection& connection, const ClaimInOrderRequest& request) {
  auto& access = connection.access();
  ClaimedInOrder out;
  std::vector<ClaimedRow> rows;
  const auto answer = ask_claim(access, request);
  for (const auto& row : answer) {
    if (!row[4].is_null()) rows.push_back(read_row(row, request.claim));
  }
  try {
    for (const auto& row : answer) {
      if (!row[4].is_null()) continue;
      out.sequences.push_back({row[1].as<std::int32_t>(), state_of(row[0].view()),
                               row[2].as<std::optional<std::int32_t>>().value_or(0),
                               row[3].as<std::optional<std::int64_t>>().value_or(-1)});
    }
    read_claimed(access, rows, {request.claim.bytes, request.claim.payloads},
                 access.bytes_per_event[request.claim.handler_id], out.claimed);
  } catch (...) {
    std::vector<LeaseKey> keys;
    for (const ClaimedRow& row : rows) keys.push_back(row.run.key);
    release_quietly(connection, request.claim.owner, keys);
    throw;
  }
  return out;
}

WindowTurn turn_window(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                       const WindowPlan& plan) {
  const auto row = connection.access().call(
      statements::turn_window, pqxx::params{handler_id, owner.text(), plan.fence, plan.latest, plan.next, plan.at_least,
                                            plan.max_postponed, plan.max_postponed_time.count()})[0];
  WindowTurn out;
  using enum WindowTurn::State;
  out.state = value_of<WindowTurn::State>(row[0].view(), {{"open", open},
                                                          {"closed", closed},
                                                          {"running", running},
                                                          {"empty", empty},
                                                          {"postponed", postponed},
                                                          {"lost", lost}});
  if (out.state == WindowTurn::State::lost) return out;
  out.now = row[1].as<event::Microseconds>();
  out.decided_until = row[2].as<event::Microseconds>();
  out.closed_at = row[3].as<std::optional<event::Microseconds>>().value_or(0);
  out.events = row[4].as<std::int64_t>();
  return out;
}

std::vector<Lane> read_lanes(Connection& connection, std::int32_t handler_id, std::int32_t sequence, std::int64_t after,
                             int limit) {
  std::vector<Lane> out;
  for (const auto& row : connection.access().run(statements::read_lanes,
                                                 pqxx::params{handler_id, sequence, after, limit}, Effect::reads)) {
    out.push_back({sequence, row[0].as<std::int64_t>(), true, row[1].as<bool>()});
  }
  return out;
}

std::vector<Lane> check_lanes(Connection& connection, std::int32_t handler_id, std::vector<Lane> lanes) {
  if (lanes.empty()) return lanes;
  ArrayParameter sequences{Type::int4}, hashes{Type::int8};
  for (const Lane& lane : lanes) {
    sequences.add(lane.sequence);
    hashes.add(lane.lane);
  }
  std::size_t i = 0;
  for (const auto& row : connection.access().run(
           statements::check_lanes, pqxx::params{handler_id, sequences.finish(), hashes.finish()}, Effect::reads)) {
    Lane& lane = lanes.at(i++);
    lane.has_events = row[0].as<bool>();
    lane.is_parked = row[1].as<bool>();
  }
  return lanes;
}

}  // namespace inboxd::inbox
