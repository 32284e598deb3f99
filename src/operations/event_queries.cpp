#include "operations/event_queries.hpp"

#include <algorithm>
#include <limits>

#include "inbox/connection_access.hpp"
#include "inbox/value_of.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

/// Of each shard, to find the sources and types in use.
constexpr std::int64_t newest_events_asked = 20;

/// The start of yesterday, or of the only day.
event::Microseconds second_day(const std::vector<event::Microseconds>& days) {
  return days.empty() ? 0 : days[std::min<std::size_t>(days.size() - 1, 1)];
}

/// A stretch of days, [from, until).
struct Window {
  event::Microseconds from = 0;
  event::Microseconds until = 0;
};

/// Groups days into stretches of doubling length: new events are wanted most, and each stretch costs a statement.
std::vector<Window> windows_of(const std::vector<event::Microseconds>& days, const Period& received) {
  std::vector<Window> out;
  const auto since = received.since.value_or(std::numeric_limits<event::Microseconds>::min());
  // The end of the newest day, to include events received during the search.
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

/// The result of a statement.
struct Found {
  std::vector<StoredEvent> events;
  std::int64_t looked_at = 0;
  std::optional<event::Microseconds> oldest;
  /// No event received since then is missing; null: none is missing at all.
  std::optional<event::Microseconds> sure_from;
};

Found read_found(const pqxx::result& rows) {
  Found out;
  for (const auto& row : rows) {
    out.looked_at = row[0].as<std::int64_t>();
    out.oldest = row[1].as<std::optional<event::Microseconds>>();
    out.sure_from = row[2].as<std::optional<event::Microseconds>>();
    if (!row["event_id"].is_null()) out.events.push_back(read_stored_event(row));
  }
  return out;
}

pqxx::params parameters_of(const std::optional<EventRank>& rank) {
  if (!rank) return pqxx::params{nullptr, nullptr, nullptr};
  return pqxx::params{rank->received_at, rank->shard_id, rank->offset};
}

bool has_key_index(inbox::Connection& connection) {
  return inbox::run_read(connection, inbox::statements::op_key_index, pqxx::params{})[0][0].as<bool>();
}

/// Searches stretch by stretch. In each it reads a few events of every shard, then more, until the newest are certain:
/// with many shards, `limit` events of each would be far too many.
class Search final {
 public:
  Search(inbox::Connection& connection, const EventsFilter& filter, std::int64_t limit, std::int64_t most)
      : connection_{connection},
        filter_{filter},
        limit_{limit},
        most_{most},
        by_key_{filter.key && has_key_index(connection)},
        shards_{array_parameter(filter.shards)},
        types_{like_patterns(filter.types)},
        states_{array_parameter(filter.states)} {}

  NewestEvents run() {
    for (const Window& window : windows_of(event_days(connection_), filter_.received)) {
      if (wanted() <= 0 || found_.next_until) break;
      look_through(window);
    }
    return std::move(found_);
  }

 private:
  std::int64_t wanted() const { return limit_ - static_cast<std::int64_t>(found_.events.size()); }

  /// The most events to read of each shard now.
  std::int64_t max_of_each() const {
    if (filter_.takes_all()) return wanted();  // each event matches
    if (by_key_) return most_ - found_.looked_at;
    return std::max(few, (most_ - found_.looked_at) / static_cast<std::int64_t>(filter_.shards.size()));
  }

  Found ask(const Window& window, std::int64_t of_each) {
    const pqxx::params parameters{shards_,
                                  window.from,
                                  window.until,
                                  types_,
                                  of_each,
                                  wanted(),
                                  window.from - window.from % day_us,
                                  end_of_day(window.until),
                                  bytes_parameter(filter_.key),
                                  filter_.handler,
                                  states_,
                                  filter_.asks_state(),
                                  by_key_,
                                  parameters_of(filter_.after)};
    return read_found(inbox::run_read(connection_, inbox::statements::op_events_newest, parameters));
  }

  void look_through(const Window& window) {
    for (std::int64_t of_each = by_key_ ? most_ : few;; of_each *= 4) {
      const auto most = max_of_each();
      of_each = std::min(of_each, most);
      Found answer = ask(window, of_each);
      if (filter_.takes_all() && of_each == most) answer.sure_from.reset();  // `wanted` of each suffice
      const auto sure = std::ranges::partition_point(
          answer.events, [&](const StoredEvent& e) { return !answer.sure_from || e.received_at >= *answer.sure_from; });
      const bool is_enough = !answer.sure_from || sure - answer.events.begin() >= wanted();
      if (!is_enough && of_each < most) continue;
      take(answer, sure);
      if (!is_enough) found_.next_until = *answer.sure_from + 1;
      return;
    }
  }

  void take(Found& answer, std::vector<StoredEvent>::iterator end) {
    std::move(answer.events.begin(), end, std::back_inserter(found_.events));
    found_.looked_at += answer.looked_at;
    if (answer.oldest) found_.back_to = answer.oldest;
  }

  static constexpr std::int64_t few = 16;

  inbox::Connection& connection_;
  const EventsFilter& filter_;
  const std::int64_t limit_;
  const std::int64_t most_;
  const bool by_key_;
  const pqxx::bytes shards_;
  const pqxx::bytes types_;
  const pqxx::bytes states_;
  NewestEvents found_;
};

std::optional<Worker> read_worker(inbox::RowReader& row) {
  const auto host = row.maybe_text();
  const auto process_id = row.maybe_int4();
  if (!host) return std::nullopt;
  return Worker{*host, process_id.value_or(0)};
}

OpenDelivery read_delivery(inbox::RowReader row) {
  OpenDelivery out;
  out.handler = row.text();
  out.attempts = row.int4();
  out.claims = row.int4();
  out.is_leased = row.flag();
  out.due_at = row.maybe_int8();
  out.is_due = row.flag();
  out.waits_for = row.maybe_text();
  out.owner = read_worker(row);
  out.last_error = row.maybe_text();
  out.events = row.int4();
  out.paused_reason = row.maybe_text();
  out.delivery_id = row.int8();
  return out;
}

RecordedOutcome read_outcome(inbox::RowReader row) {
  return {row.text(), row.text(), row.int4(), row.int8(), read_worker(row)};
}

RecordedFailure read_failure(inbox::RowReader row) {
  return {row.text(), row.int4(), row.int8(), row.text(), row.text(), std::chrono::microseconds{row.int8()}};
}

Note read_note(inbox::RowReader row) { return {row.text(), row.text(), row.int8()}; }

}  // namespace

std::vector<event::Microseconds> event_days(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_event_days, {}, [](auto row) { return row.int8(); });
}

NewestEvents newest_events(inbox::Connection& connection, const EventsFilter& filter, std::int64_t limit,
                           std::int64_t search) {
  if (filter.shards.empty()) return {};
  return Search{connection, filter, limit, search}.run();
}

std::vector<EventPlace> find_in_ledger(inbox::Connection& connection, const std::vector<base::Uuid>& event_ids) {
  const pqxx::params parameters{array_parameter(event_ids)};
  return read_all(connection, inbox::statements::op_ledger_find, parameters, [](auto row) {
    EventPlace place{row.uuid(), row.int4(), row.int8(), row.int8(), std::nullopt};
    place.received_until = *place.received_from + 1;
    return place;
  });
}

std::vector<std::string> sources_in_use(inbox::Connection& connection) {
  const auto days = event_days(connection);
  if (days.empty()) return {};
  return read_all(connection, inbox::statements::op_sources, pqxx::params{newest_events_asked, second_day(days)},
                  [](auto row) { return row.text(); });
}

std::map<std::string, std::vector<std::string>> names_in_use(inbox::Connection& connection) {
  std::map<std::string, std::vector<std::string>> out;
  const auto days = event_days(connection);
  for (const auto& row :
       inbox::run_read(connection, inbox::statements::op_names, pqxx::params{newest_events_asked, second_day(days)})) {
    out[row[0].as<std::string>()].push_back(row[1].as<std::string>());
  }
  return out;
}

std::vector<EventPlace> search_day(inbox::Connection& connection, const std::vector<base::Uuid>& event_ids,
                                   const std::string& source_id, event::Microseconds day) {
  const pqxx::params parameters{array_parameter(event_ids), source_id, day, day + day_us};
  return read_all(connection, inbox::statements::op_event_search, parameters, [&](auto row) {
    return EventPlace{row.uuid(), row.int4(), row.int8(), day, day + day_us};
  });
}

std::optional<StoredEvent> read_event(inbox::Connection& connection, const EventPlace& place) {
  const auto read = [&](std::optional<event::Microseconds> from,
                        std::optional<event::Microseconds> until) -> std::optional<StoredEvent> {
    const auto rows = inbox::run_read(connection, inbox::statements::op_event,
                                      pqxx::params{place.shard_id, place.offset, from, until});
    if (rows.empty()) return std::nullopt;
    return read_stored_event(rows[0], Extent::whole);
  };
  if (place.received_from) {
    if (auto found = read(place.received_from, place.received_until)) return found;
  }
  return read(std::nullopt, std::nullopt);
}

std::vector<OpenDelivery> read_deliveries(inbox::Connection& connection, const HistoryRequest& request) {
  const pqxx::params of_run{request.shard_id, request.offset, request.received_at, request.event_id.text()};
  return read_all(connection, inbox::statements::op_event_deliveries, of_run, read_delivery);
}

std::vector<PublishedMessage> read_messages(inbox::Connection& connection, const base::Uuid& event_id,
                                            const std::vector<std::string>& names) {
  constexpr int first_messages = 20;
  inbox::ArrayParameter ids{inbox::ArrayParameter::Type::uuid};
  for (const std::string& name : names) {
    for (int i = 1; i <= first_messages; ++i) ids.add(base::uuid_v5(event_id, name + "/" + std::to_string(i)));
  }
  auto handlers = inbox::array_of(inbox::ArrayParameter::Type::text, names);
  const pqxx::params parameters{ids.finish(), event_id.text(), handlers.finish()};
  return read_all(connection, inbox::statements::op_event_messages, parameters, [](inbox::RowReader row) {
    PublishedMessage out;
    out.message_id = row.uuid();
    out.state = row.text();
    out.topic = row.text();
    out.partition = row.maybe_int4();
    out.offset = row.maybe_int8();
    out.at = row.int8();
    out.error = row.maybe_text();
    return out;
  });
}

std::vector<ExpectedHandler> read_expected(inbox::Connection& connection, const StoredEvent& event,
                                           std::optional<std::chrono::milliseconds> dead_letters_kept) {
  std::optional<std::int64_t> kept_ms;
  if (dead_letters_kept) kept_ms = dead_letters_kept->count();
  const pqxx::params parameters{event.shard_id,
                                event.offset,
                                event.event_id.text(),
                                event.document.at("event_type").get<std::string>(),
                                event.received_at,
                                kept_ms};
  return read_all(connection, inbox::statements::op_event_expected, parameters,
                  [](auto row) { return ExpectedHandler{row.text(), row.flag()}; });
}

EventHistory read_history(inbox::Connection& connection, const HistoryRequest& request) {
  const std::string id = request.event_id.text();
  const pqxx::params of_place{request.shard_id, request.offset, request.since};
  const pqxx::params of_event{id, request.since};
  return {read_deliveries(connection, request),
          read_all(connection, inbox::statements::op_event_outcomes, of_place, read_outcome),
          read_all(connection, inbox::statements::op_event_failures, of_event, read_failure),
          read_all(connection, inbox::statements::op_event_notes, of_event, read_note)};
}

EventChange change_event(inbox::Connection& connection, const EventPlace& place, std::int64_t delivery_id,
                         const std::optional<std::string>& reason, const Deed& deed) {
  const auto rows = connection.access().run(
      inbox::statements::op_event_change,
      pqxx::params{deed.actor, deed.asked, delivery_id, place.offset, place.event_id.text(), reason});
  return inbox::value_of<EventChange>(rows[0][0].view(), {{"done", EventChange::done},
                                                          {"gone", EventChange::gone},
                                                          {"leased", EventChange::leased},
                                                          {"otherwise", EventChange::otherwise},
                                                          {"purged", EventChange::purged}});
}

WaitingRetries retry_waiting(inbox::Connection& connection, const std::string& handler,
                             const std::vector<std::string>& error_classes, std::int64_t limit, bool only_count) {
  const auto rows = connection.access().run(inbox::statements::op_events_retry_all,
                                            pqxx::params{handler, like_patterns(error_classes), limit, only_count});
  return {rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int64_t>()};
}

}  // namespace inboxd::operations
