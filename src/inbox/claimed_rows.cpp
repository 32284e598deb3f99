#include "inbox/claimed_rows.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "inbox/array_parameter.hpp"
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
  out.decoded = keep(9);
  out.headers = keep(10);
  out.occurred_at = row.time(11);
  out.kafka_timestamp = row.time(12);
  out.received_at = row.time(13).value_or(0);
  if (!row.is_null(14)) out.edit_id = row.int8(14);
  out.deliver_at = row.time(15);
  out.may_be_early = !row.is_null(16);
  return out;
}

std::shared_ptr<PGresult> fetch(Connection::Access& access, Ranges& ranges, bool payloads, std::int32_t handler_id) {
  WireParameters parameters;
  for (ArrayParameter* array : {&ranges.run, &ranges.shard, &ranges.first, &ranges.end, &ranges.from, &ranges.to}) {
    parameters.add(array->finish());
  }
  parameters.add(payloads ? "t" : "f", 1, 0);
  const std::string handler = std::to_string(handler_id);
  parameters.add(handler.data(), static_cast<int>(handler.size()), 0);
  return access.fetch(statements::fetch_events, parameters);
}

/// Reads the events of rows [begin, end) into a block; returns its bytes.
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
  const auto result = fetch(access, ranges, payloads, rows[begin].run.handler_id);
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

/// The end of a portion that starts at `begin`: at most `events` events, but at least 1 row.
std::size_t end_of_portion(const std::vector<ClaimedRow>& rows, std::size_t begin, std::int64_t events) {
  std::size_t end = begin;
  while (end < rows.size() && (end == begin || events >= rows[end].events)) events -= rows[end++].events;
  return end;
}

/// Reads the events of rows in portions, up to about the limit. Returns the number of rows read.
std::size_t read_runs(Connection::Access& access, std::vector<ClaimedRow>& rows, ReadLimit limit,
                      std::int64_t& event_bytes) {
  read_places(access, rows);
  const auto most = static_cast<std::int64_t>(limit.bytes);
  std::int64_t bytes = 0;
  std::int64_t events = 0;
  std::int64_t portion = event_bytes == 0
                             ? first_portion_events
                             : std::clamp<std::int64_t>(most / event_bytes / 2, 1, largest_first_portion_events);
  std::size_t done = 0;
  while (done < rows.size() && (done == 0 || bytes < most)) {
    const std::size_t end = end_of_portion(rows, done, portion);
    bytes += static_cast<std::int64_t>(read_portion(access, rows, done, end, limit.payloads));
    for (; done < end; ++done) {
      rows[done].run.has_content = limit.payloads;
      events += rows[done].events;
    }
    event_bytes = bytes / std::max<std::int64_t>(events, 1) + 1;
    portion = std::clamp<std::int64_t>((most - bytes) / event_bytes / 2, 1,
                                       std::min(events * portion_growth, largest_portion_events));
  }
  return done;
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

void read_claimed(Connection::Access& access, std::vector<ClaimedRow>& rows, ReadLimit limit, std::int64_t& event_bytes,
                  Claimed& out) {
  if (rows.empty()) return;
  sort_out(rows, read_runs(access, rows, limit, event_bytes), out);
}

bool release_quietly(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys) {
  try {
    release_leases(connection, owner, keys);
    return true;
  } catch (const std::exception& error) {
    connection.access().log.debug("inbox.leases_kept", {{"deliveries", keys.size()}, {"error", error.what()}});
    return false;
  }
}

}  // namespace inboxd::inbox
