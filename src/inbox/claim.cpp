#include "inbox/claim.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/pipeline.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

/// A run with more ranges is read over its whole span and filtered here,
constexpr std::size_t ranges_read_one_by_one = 4;
/// unless the span has more than this many offsets for each pending event.
constexpr std::int64_t offsets_worth_reading = 4;
/// The size of a claim's first portion: if the size of the handler's events is unknown, and at most if it is known from
/// the last claim, since this claim's events may differ.
constexpr std::int64_t first_portion_events = 64;
constexpr std::int64_t largest_first_portion_events = 256;
/// Later portions follow the measured size, and grow by at most this factor of the events read before.
constexpr std::int64_t portion_growth = 4;
constexpr std::int64_t largest_portion_events = 16 * 1024;

/// A claimed row before its events are read.
struct ClaimedRow {
  LeasedRun run;
  std::int64_t events = 0;
  std::optional<event::Microseconds> received_from;  ///< nullopt: unlimited
  std::optional<event::Microseconds> received_to;    ///< nullopt: unlimited
};

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

void read_places(Connection::Access& access, std::vector<ClaimedRow>& rows) {
  ArrayParameter shards{Type::int4};
  std::set<std::int32_t> seen;
  for (const ClaimedRow& row : rows) {
    if (seen.insert(row.run.shard_id).second) shards.add(row.run.shard_id);
  }
  std::map<std::int32_t, std::shared_ptr<const Place>> places;
  for (const auto& row :
       access.run(statements::shard_places, pqxx::params{shards.finish()}, Connection::Access::Effect::reads)) {
    places[row[0].as<std::int32_t>()] =
        std::make_shared<const Place>(Place{row[1].as<std::string>(), row[2].as<int>()});
  }
  for (ClaimedRow& row : rows) row.run.place = places[row.run.shard_id];
}

/// The ranges of a portion of rows, as parameters of fetch_events.
struct Ranges {
  ArrayParameter run{Type::int4}, shard{Type::int4}, first{Type::int8}, end{Type::int8}, from{Type::timestamptz},
      to{Type::timestamptz};

  void add(std::int32_t index, const ClaimedRow& row, event::OffsetRange range) {
    run.add(index);
    shard.add(row.run.shard_id);
    first.add(range.first);
    end.add(range.end);
    if (row.received_from) {
      from.add_time(*row.received_from);
    } else {
      from.add(std::numeric_limits<std::int64_t>::min());  // -infinity
    }
    if (row.received_to) {
      to.add_time(*row.received_to);
    } else {
      to.add(std::numeric_limits<std::int64_t>::max());  // infinity
    }
  }
};

event::Event read_event(const BinaryRow& row, std::int32_t shard_id, base::Arena& arena) {
  const auto keep = [&](int column) {
    return row.is_null(column) ? event::MaybeBytes{} : event::MaybeBytes{arena.copy(row.bytes(column))};
  };
  event::Event out;
  out.shard_id = shard_id;
  out.offset = row.int8(1);
  out.event_id = row.uuid(2);
  out.source_id = keep(3);
  out.event_type = arena.copy(row.bytes(4));
  out.source = keep(5);
  out.subject = keep(6);
  out.key = keep(7);
  out.payload = keep(8);
  out.headers = keep(9);
  out.occurred_at = row.time(10);
  out.kafka_timestamp = row.time(11);
  out.received_at = row.time(12).value_or(0);
  return out;
}

std::shared_ptr<PGresult> fetch(Connection::Access& access, Ranges& ranges, bool payloads) {
  WireParameters parameters;
  for (ArrayParameter* array : {&ranges.run, &ranges.shard, &ranges.first, &ranges.end, &ranges.from, &ranges.to}) {
    parameters.add(array->finish());
  }
  parameters.add(payloads ? "t" : "f", 1, 0);
  return access.fetch(statements::fetch_events, parameters);
}

/// Reads the events of rows [begin, end) into one block; returns its bytes.
std::size_t read_portion(Connection::Access& access, std::vector<ClaimedRow>& rows, std::size_t begin, std::size_t end,
                         bool payloads) {
  Ranges ranges;
  for (std::size_t i = begin; i < end; ++i) {
    const auto& of_run = rows[i].run.pending.ranges();
    const std::int64_t span = of_run.back().end - of_run.front().first;
    if (of_run.size() > ranges_read_one_by_one && span <= rows[i].events * offsets_worth_reading) {
      ranges.add(static_cast<std::int32_t>(i), rows[i], {of_run.front().first, of_run.back().end});
    } else {
      for (const auto& range : of_run) ranges.add(static_cast<std::int32_t>(i), rows[i], range);
    }
  }
  const auto result = fetch(access, ranges, payloads);
  const int count = PQntuples(result.get());
  auto block = std::make_shared<EventBlock>();
  block->events.reserve(static_cast<std::size_t>(count));  // runs point to the events: they must not move
  for (int i = 0; i < count; ++i) {
    const BinaryRow row{result.get(), i};
    LeasedRun& run = rows[static_cast<std::size_t>(row.int4(0))].run;
    if (!run.pending.contains(row.int8(1))) continue;
    block->events.push_back(read_event(row, run.shard_id, block->arena));
    run.events.push_back(&block->events.back());
    run.block = block;
  }
  return block->arena.used() + block->events.size() * sizeof(event::Event);
}

/// The end of a portion that starts at `begin`: at most `events` events, but at least one row.
std::size_t end_of_portion(const std::vector<ClaimedRow>& rows, std::size_t begin, std::int64_t events) {
  std::size_t end = begin;
  while (end < rows.size() && (end == begin || events >= rows[end].events)) events -= rows[end++].events;
  return end;
}

/// Reads the events of rows in portions, up to about `request.bytes`. Returns the number of rows read.
/// `event_bytes`: an event's size in the handler's last claim (0: unknown), updated from this one.
std::size_t read_runs(Connection::Access& access, std::vector<ClaimedRow>& rows, const ClaimRequest& request,
                      std::int64_t& event_bytes) {
  read_places(access, rows);
  const auto most = static_cast<std::int64_t>(request.bytes);
  std::int64_t bytes = 0;
  std::int64_t events = 0;
  std::int64_t portion = event_bytes == 0
                             ? first_portion_events
                             : std::clamp<std::int64_t>(most / event_bytes / 2, 1, largest_first_portion_events);
  std::size_t done = 0;
  while (done < rows.size() && (done == 0 || bytes < most)) {
    const std::size_t end = end_of_portion(rows, done, portion);
    bytes += static_cast<std::int64_t>(read_portion(access, rows, done, end, request.payloads));
    for (; done < end; ++done) {
      rows[done].run.has_content = request.payloads;
      events += rows[done].events;
    }
    event_bytes = bytes / std::max<std::int64_t>(events, 1) + 1;
    portion = std::clamp<std::int64_t>((most - bytes) / event_bytes / 2, 1,
                                       std::min(events * portion_growth, largest_portion_events));
  }
  return done;
}

/// Returns whether it succeeded. If not, the claim itself still stands.
bool release_quietly(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys) {
  try {
    release_leases(connection, owner, keys);
    return true;
  } catch (const std::exception& error) {
    connection.access().log.debug("inbox.leases_kept", {{"deliveries", keys.size()}, {"error", error.what()}});
    return false;
  }
}

void sort_out(std::vector<ClaimedRow>& rows, std::size_t read, Claimed& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i >= read) {
      out.excess.push_back(rows[i].run.key);
    } else if (rows[i].run.events.empty()) {
      out.empty.push_back(rows[i].run.key);
    } else {
      out.runs.push_back(std::move(rows[i].run));
    }
  }
}

}  // namespace

Claimed claim(Connection& connection, const ClaimRequest& request) {
  auto& access = connection.access();
  Claimed out;
  auto rows = take_rows(access, request, out.rows_locked);
  if (rows.empty()) return out;
  std::size_t done = 0;
  try {
    slice_rows(access, request, rows);
    done = read_runs(access, rows, request, access.bytes_per_event[request.handler_id]);
  } catch (...) {
    // No handler's fault: release the rows uncharged. If that fails, too, their leases expire.
    std::vector<LeaseKey> keys;
    for (const ClaimedRow& row : rows) keys.push_back(row.run.key);
    release_quietly(connection, request.owner, keys);
    throw;
  }
  sort_out(rows, done, out);
  if (release_quietly(connection, request.owner, out.excess)) out.excess.clear();
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

struct Keys {
  ArrayParameter id{Type::int8}, fence{Type::int8};
  explicit Keys(const std::vector<LeaseKey>& keys) {
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
  Keys arrays{keys};
  return connection.access()
      .run(statements::renew, pqxx::params{owner.text(), arrays.id.finish(), arrays.fence.finish(), lease.count()})
      .affected_rows();
}

std::int64_t release_leases(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys) {
  if (keys.empty()) return 0;
  Keys arrays{keys};
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
