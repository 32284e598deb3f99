#include "inbox/claim.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "inbox/array_parameter.hpp"
#include "inbox/claimed_rows.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

std::vector<ClaimedRow> take_rows(Connection::Access& access, const ClaimRequest& request, int& rows_locked) {
  const std::int64_t fence = request.fence != 0 ? request.fence : base::random_fence();
  const auto result =
      access.call(statements::claim,
                  pqxx::params{request.handler_id, request.owner.text(), fence, request.lease.count(), request.events,
                               request.rows, request.not_before, request.claims_from, request.claims_to});
  std::vector<ClaimedRow> rows;
  for (const auto& row : result) {
    ClaimedRow claimed;
    claimed.run.handler_id = request.handler_id;
    claimed.run.key = {row[0].as<std::int64_t>(), fence};
    claimed.run.shard_id = row[1].as<std::int32_t>();
    claimed.run.pending = event::OffsetSet::parse(row[2].view()).value_or(event::OffsetSet{});
    claimed.events = row[3].as<std::int64_t>();
    claimed.run.attempts = row[4].as<std::int32_t>();
    claimed.run.claims = row[5].as<std::int32_t>();
    if (!row[6].is_null()) claimed.received_from = row[6].as<event::Microseconds>();
    if (!row[7].is_null()) claimed.received_to = row[7].as<event::Microseconds>();
    rows_locked = row[8].as<int>();
    claimed.run.never_expires = row[9].as<bool>();
    claimed.run.was_alone = row[10].as<bool>();
    claimed.run.was_deferred = row[11].as<bool>();
    rows.push_back(std::move(claimed));
  }
  // UPDATE returns rows in no defined order; the oldest offsets of a shard go first.
  static constexpr auto latest = std::numeric_limits<event::Microseconds>::max();
  std::sort(rows.begin(), rows.end(), [](const ClaimedRow& a, const ClaimedRow& b) {
    if (a.received_to != b.received_to) return a.received_to.value_or(latest) < b.received_to.value_or(latest);
    return a.run.pending.ranges().front().first < b.run.pending.ranges().front().first;
  });
  return rows;
}

/// Splits large runs into rows of their own, so that several workers can share them.
void slice_rows(Connection::Access& access, const ClaimRequest& request, std::vector<ClaimedRow>& rows) {
  ArrayParameter ids{Type::int8};
  std::size_t large = 0;
  for (const ClaimedRow& row : rows) {
    if (request.slice <= 0 || row.events <= request.slice) continue;
    ids.add(row.run.key.delivery_id);
    ++large;
  }
  if (large == 0) return;
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, event::OffsetSet>>> slices;
  for (const auto& row : access.run(statements::slice, pqxx::params{request.owner.text(), rows.front().run.key.fence,
                                                                    ids.finish(), request.slice})) {
    slices[row[0].as<std::int64_t>()].emplace_back(row[1].as<std::int64_t>(),
                                                   event::OffsetSet::parse(row[2].view()).value_or(event::OffsetSet{}));
  }
  std::vector<ClaimedRow> out;
  for (ClaimedRow& row : rows) {
    const auto found = slices.find(row.run.key.delivery_id);
    if (found == slices.end()) {
      out.push_back(std::move(row));
      continue;
    }
    for (auto& [delivery_id, pending] : found->second) {
      ClaimedRow& piece = out.emplace_back(row);
      piece.run.key.delivery_id = delivery_id;
      piece.events = pending.count();
      piece.run.pending = std::move(pending);
    }
  }
  rows = std::move(out);
}

}  // namespace

Claimed claim(Connection& connection, const ClaimRequest& request) {
  auto& access = connection.access();
  Claimed out;
  auto rows = take_rows(access, request, out.rows_locked);
  if (rows.empty()) return out;
  try {
    slice_rows(access, request, rows);
    read_claimed(access, rows, {request.bytes, request.payloads}, access.bytes_per_event[request.handler_id], out);
  } catch (...) {
    // No handler's fault: release the rows uncharged. If that fails, too, their leases expire.
    std::vector<LeaseKey> keys;
    for (const ClaimedRow& row : rows) keys.push_back(row.run.key);
    release_quietly(connection, request.owner, keys);
    throw;
  }
  if (release_quietly(connection, request.owner, out.excess)) out.excess.clear();
  return out;
}

std::vector<std::int32_t> find_due(Connection& connection, const std::vector<std::int32_t>& handlers,
                                   const std::vector<std::optional<event::Microseconds>>& not_before) {
  auto ids = array_of(Type::int4, handlers);
  ArrayParameter times{Type::int8, not_before.size() * 12};
  for (const auto& time : not_before) time ? times.add(*time) : times.add_null();
  std::vector<std::int32_t> out;
  for (const auto& row : connection.access().run(statements::find_due, pqxx::params{ids.finish(), times.finish()},
                                                 Connection::Access::Effect::reads)) {
    out.push_back(row[0].as<std::int32_t>());
  }
  return out;
}

DueReading read_due(Connection& connection, std::int32_t handler_id, std::optional<event::Microseconds> not_before,
                    bool asks_writers) {
  const auto row = connection.access().run(statements::read_due, pqxx::params{handler_id, not_before, asks_writers},
                                           Connection::Access::Effect::reads)[0];
  DueReading out;
  if (!row[0].is_null()) out.earliest = row[0].as<event::Microseconds>();
  out.now = row[1].as<event::Microseconds>();
  out.xmin = row[2].as<std::uint64_t>();
  out.xmax = row[3].as<std::uint64_t>();
  if (!row[4].is_null()) out.writers = row[4].as<std::uint64_t>();
  return out;
}

namespace {

struct LeaseArrays {
  ArrayParameter id{Type::int8}, fence{Type::int8};
  explicit LeaseArrays(const std::vector<LeaseKey>& keys) {
    for (const LeaseKey& key : keys) {
      id.add(key.delivery_id);
      fence.add(key.fence);
    }
  }
};

}  // namespace

std::int64_t renew(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys,
                   std::chrono::milliseconds lease) {
  if (keys.empty()) return 0;
  LeaseArrays arrays{keys};
  return connection.access()
      .run(statements::renew, pqxx::params{owner.text(), arrays.id.finish(), arrays.fence.finish(), lease.count()})
      .affected_rows();
}

std::int64_t release_leases(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys) {
  if (keys.empty()) return 0;
  LeaseArrays arrays{keys};
  return connection.access()
      .run(statements::release_leases, pqxx::params{owner.text(), arrays.id.finish(), arrays.fence.finish()})
      .affected_rows();
}

std::int64_t release_claims(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                            const std::vector<std::int64_t>& fences, std::chrono::milliseconds since) {
  if (fences.empty()) return 0;
  auto array = array_of(Type::int8, fences);
  return connection.access()
      .run(statements::release_claims, pqxx::params{owner.text(), handler_id, array.finish(), since.count()})
      .affected_rows();
}

}  // namespace inboxd::inbox
