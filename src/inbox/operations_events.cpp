#include "inbox/operations_events.hpp"

#include <algorithm>
#include <limits>

#include "inbox/connection_access.hpp"
#include "inbox/operations_rows.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

constexpr event::Microseconds day_us = 86'400'000'000;
constexpr std::int64_t events_asked_for_sources = 20;

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

event::Microseconds end_of_day(event::Microseconds until) { return (until + day_us - 1) / day_us * day_us; }

/// What one question gave.
struct Answer {
  std::vector<StoredEvent> events;
  std::int64_t looked_at = 0;
  std::optional<event::Microseconds> oldest;
  /// Nothing can be missing among the events from here on; null: none is missing at all.
  std::optional<event::Microseconds> sure_from;
};

Answer read_answer(const pqxx::result& rows) {
  Answer out;
  for (const auto& found : rows) {
    RowReader row{found};
    out.looked_at = row.int8();
    out.oldest = row.maybe_int8();
    out.sure_from = row.maybe_int8();
    if (!found[3].is_null()) out.events.push_back(read_stored_event(row, false));
  }
  return out;
}

/// Looks for events stretch by stretch. In each, a few of every shard are looked at first, then more, until the newest
/// are known for certain: with many shards, `limit` of each would be far too many.
class Search final {
 public:
  Search(Connection& connection, const EventsFilter& filter, std::int64_t limit, std::int64_t most)
      : connection_{connection},
        filter_{filter},
        limit_{limit},
        most_{most},
        shards_{array_of(Type::int4, filter.shards)},
        types_{like_patterns(filter.types)},
        shard_bytes_{shards_.finish()},
        type_bytes_{types_.finish()} {}

  NewestEvents run() {
    for (const Window& window : windows_of(event_days(connection_), filter_.received)) {
      if (wanted() <= 0 || !found_.complete) break;
      look_through(window);
    }
    return std::move(found_);
  }

 private:
  std::int64_t wanted() const { return limit_ - static_cast<std::int64_t>(found_.events.size()); }

  /// The most events of a shard that it makes sense to look at now.
  std::int64_t most_of_each() const {
    if (filter_.types.empty()) return wanted();  // each of them counts
    return std::max(few, (most_ - found_.looked_at) / static_cast<std::int64_t>(filter_.shards.size()));
  }

  void look_through(const Window& window) {
    for (std::int64_t of_each = few;; of_each *= 4) {
      const auto most = most_of_each();
      of_each = std::min(of_each, most);
      Answer answer = read_answer(
          look(connection_, statements::op_events_newest,
               pqxx::params{shard_bytes_, window.from, window.until, type_bytes_, of_each, wanted(),
                            window.from - window.from % day_us, end_of_day(window.until)}));
      if (filter_.types.empty() && of_each == most) answer.sure_from.reset();  // `wanted` of each: enough of any
      const auto sure = std::ranges::partition_point(
          answer.events, [&](const StoredEvent& e) { return !answer.sure_from || e.received_at >= *answer.sure_from; });
      const bool is_enough = !answer.sure_from || sure - answer.events.begin() >= wanted();
      if (!is_enough && of_each < most) continue;
      take(answer, sure);
      if (!is_enough) found_.complete = false;
      return;
    }
  }

  void take(Answer& answer, std::vector<StoredEvent>::iterator end) {
    std::move(answer.events.begin(), end, std::back_inserter(found_.events));
    found_.looked_at += answer.looked_at;
    if (answer.oldest) found_.back_to = answer.oldest;
  }

  static constexpr std::int64_t few = 16;

  Connection& connection_;
  const EventsFilter& filter_;
  const std::int64_t limit_;
  const std::int64_t most_;
  ArrayParameter shards_;
  ArrayParameter types_;
  const pqxx::bytes_view shard_bytes_;
  const pqxx::bytes_view type_bytes_;
  NewestEvents found_;
};

}  // namespace

std::vector<event::Microseconds> event_days(Connection& connection) {
  std::vector<event::Microseconds> out;
  for (const auto& row : look(connection, statements::op_event_days, pqxx::params{})) {
    out.push_back(row[0].as<std::int64_t>());
  }
  return out;
}

NewestEvents newest_events(Connection& connection, const EventsFilter& filter, std::int64_t limit,
                           std::int64_t search) {
  if (filter.shards.empty()) return {};
  return Search{connection, filter, limit, search}.run();
}

std::vector<EventPlace> find_in_ledger(Connection& connection, const std::vector<base::Uuid>& event_ids) {
  auto ids = array_of(Type::uuid, event_ids);
  std::vector<EventPlace> out;
  for (const auto& found :
       look(connection, statements::op_ledger_find, pqxx::params{ids.finish()})) {
    RowReader row{found};
    EventPlace place;
    place.event_id = row.uuid();
    place.shard_id = row.int4();
    place.offset = row.int8();
    place.received_from = row.int8();
    place.received_until = *place.received_from + 1;
    out.push_back(place);
  }
  return out;
}

std::vector<std::string> sources_in_use(Connection& connection) {
  const auto days = event_days(connection);
  if (days.empty()) return {};
  const auto since = days[std::min<std::size_t>(days.size() - 1, 1)];
  std::vector<std::string> out;
  for (const auto& row : look(connection, statements::op_sources,
                                                 pqxx::params{events_asked_for_sources, since})) {
    out.push_back(row[0].as<std::string>());
  }
  return out;
}

std::vector<EventPlace> search_day(Connection& connection, const std::vector<base::Uuid>& event_ids,
                                   const std::string& source_id, event::Microseconds day) {
  auto ids = array_of(Type::uuid, event_ids);
  std::vector<EventPlace> out;
  for (const auto& found :
       look(connection, statements::op_event_search,
                               pqxx::params{ids.finish(), source_id, day, day + day_us})) {
    RowReader row{found};
    EventPlace place;
    place.event_id = row.uuid();
    place.shard_id = row.int4();
    place.offset = row.int8();
    place.received_from = day;
    place.received_until = day + day_us;
    out.push_back(place);
  }
  return out;
}

std::optional<StoredEvent> read_event(Connection& connection, const EventPlace& place) {
  const auto read = [&](std::optional<event::Microseconds> from,
                        std::optional<event::Microseconds> until) -> std::optional<StoredEvent> {
    const auto rows = look(connection, statements::op_event,
                                              pqxx::params{place.shard_id, place.offset, from, until});
    if (rows.empty()) return std::nullopt;
    RowReader row{rows[0]};
    return read_stored_event(row, true);
  };
  if (place.received_from) {
    if (auto found = read(place.received_from, place.received_until)) return found;
  }
  return read(std::nullopt, std::nullopt);
}

}  // namespace inboxd::inbox
