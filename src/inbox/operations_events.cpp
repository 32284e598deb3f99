#include "inbox/operations_events.hpp"

#include <algorithm>
#include <limits>

#include "inbox/connection_access.hpp"
#include "inbox/operations_rows.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;
using Type = ArrayParameter::Type;

constexpr event::Microseconds day_us = 86'400'000'000;
constexpr std::int64_t events_asked_for_sources = 200;

/// A stretch of days, [from, until).
struct Window {
  event::Microseconds from = 0;
  event::Microseconds until = 0;
};

/// Groups days into stretches that double in length: what is new is usually wanted, and each stretch costs a question.
std::vector<Window> windows_of(const std::vector<event::Microseconds>& days, const Period& received) {
  std::vector<Window> out;
  const auto since = received.since.value_or(std::numeric_limits<event::Microseconds>::min());
  // The end of the newest day, so that events received while we look are seen, too.
  auto until = days.empty() ? 0 : days.front() + day_us;
  until = std::min(until, received.until.value_or(until));
  for (std::size_t i = 0, length = 1; i < days.size() && until > since;) {
    i += length;
    length *= 2;
    const auto from = std::max(days[std::min(i, days.size()) - 1], since);
    if (from >= until) continue;
    out.push_back({from, until});
    until = from;
  }
  return out;
}

/// What one stretch gave.
struct Looked {
  std::int64_t events = 0;
  std::int64_t most_of_a_shard = 0;
};

Looked read_window(const pqxx::result& rows, NewestEvents& out) {
  Looked looked;
  for (const auto& found : rows) {
    RowReader row{found};
    looked.events = row.int8();
    looked.most_of_a_shard = row.int8();
    const auto oldest = row.maybe_int8();
    if (oldest) out.back_to = std::min(*oldest, out.back_to.value_or(*oldest));
    if (!found[3].is_null()) out.events.push_back(read_stored_event(row, false));
  }
  return looked;
}

}  // namespace

std::vector<event::Microseconds> event_days(Connection& connection) {
  std::vector<event::Microseconds> out;
  for (const auto& row : connection.access().run(statements::op_event_days, pqxx::params{}, Effect::reads)) {
    out.push_back(row[0].as<std::int64_t>());
  }
  return out;
}

NewestEvents newest_events(Connection& connection, const EventsFilter& filter, std::int64_t limit,
                           std::int64_t search) {
  NewestEvents out;
  if (filter.shards.empty()) return out;
  auto shards = array_of(Type::int4, filter.shards);
  auto types = array_of(Type::text, filter.types);
  const auto shard_bytes = shards.finish();
  const auto type_bytes = types.finish();
  for (const Window& window : windows_of(event_days(connection), filter.received)) {
    const auto wanted = limit - static_cast<std::int64_t>(out.events.size());
    if (wanted <= 0) break;
    if (out.looked_at >= search) {
      out.complete = false;
      break;
    }
    // Where every type is wanted, the first `wanted` of each shard are enough.
    const auto share = (search - out.looked_at) / static_cast<std::int64_t>(filter.shards.size());
    const auto of_each = filter.types.empty() ? wanted : std::max(share, wanted);
    const auto rows = connection.access().run(
        statements::op_events_newest,
        pqxx::params{shard_bytes, window.from, window.until, type_bytes, of_each, wanted}, Effect::reads);
    const Looked looked = read_window(rows, out);
    out.looked_at += looked.events;
    if (static_cast<std::int64_t>(out.events.size()) < limit && looked.most_of_a_shard >= of_each) {
      out.complete = false;
      break;
    }
  }
  return out;
}

std::vector<EventPlace> find_in_ledger(Connection& connection, const std::vector<base::Uuid>& event_ids) {
  auto ids = array_of(Type::uuid, event_ids);
  std::vector<EventPlace> out;
  for (const auto& found :
       connection.access().run(statements::op_ledger_find, pqxx::params{ids.finish()}, Effect::reads)) {
    RowReader row{found};
    EventPlace place;
    place.event_id = row.uuid();
    place.shard_id = row.int4();
    place.offset = row.int8();
    place.received_day = row.int8() * day_us;
    out.push_back(place);
  }
  return out;
}

std::vector<std::string> sources_in_use(Connection& connection) {
  const auto days = event_days(connection);
  if (days.empty()) return {};
  const auto since = days[std::min<std::size_t>(days.size() - 1, 1)];
  std::vector<std::string> out;
  for (const auto& row : connection.access().run(statements::op_sources,
                                                 pqxx::params{events_asked_for_sources, since}, Effect::reads)) {
    out.push_back(row[0].as<std::string>());
  }
  return out;
}

std::vector<EventPlace> search_day(Connection& connection, const std::vector<base::Uuid>& event_ids,
                                   const std::string& source_id, event::Microseconds day) {
  auto ids = array_of(Type::uuid, event_ids);
  std::vector<EventPlace> out;
  for (const auto& found :
       connection.access().run(statements::op_event_search,
                               pqxx::params{ids.finish(), source_id, day, day + day_us}, Effect::reads)) {
    RowReader row{found};
    EventPlace place;
    place.event_id = row.uuid();
    place.shard_id = row.int4();
    place.offset = row.int8();
    place.received_day = day;
    out.push_back(place);
  }
  return out;
}

std::optional<StoredEvent> read_event(Connection& connection, const EventPlace& place) {
  const auto read = [&](std::optional<event::Microseconds> from,
                        std::optional<event::Microseconds> until) -> std::optional<StoredEvent> {
    const auto rows = connection.access().run(statements::op_event,
                                              pqxx::params{place.shard_id, place.offset, from, until}, Effect::reads);
    if (rows.empty()) return std::nullopt;
    RowReader row{rows[0]};
    return read_stored_event(row, true);
  };
  if (place.received_day) {
    // The ledger's date is that of the session's time zone: a day to either side.
    if (auto near = read(*place.received_day - day_us, *place.received_day + 2 * day_us)) return near;
  }
  return read(std::nullopt, std::nullopt);
}

}  // namespace inboxd::inbox
