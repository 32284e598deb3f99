#include "inbox/unsubscribed.hpp"

#include "base/mutex.hpp"
#include "base/text.hpp"
#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

void Unsubscribed::add(const std::string& topic, std::string_view event_type, std::int64_t events) {
  const base::Lock lock{mutex_};
  totals_[topic] += static_cast<std::uint64_t>(events);
  count(topic, event_type, events);
}

void Unsubscribed::count(const std::string& topic, std::string_view event_type, std::int64_t events) {
  std::pair<std::string, std::string> key{topic, base::shorten(event_type, max_type)};
  if (counts_.size() >= max_types && !counts_.contains(key)) key.second = other_types;
  counts_[std::move(key)] += events;
}

std::vector<UnsubscribedEvents> Unsubscribed::take() {
  const base::Lock lock{mutex_};
  std::vector<UnsubscribedEvents> out;
  for (const auto& [key, events] : counts_) out.push_back({key.first, key.second, events});
  counts_.clear();
  return out;
}

void Unsubscribed::put_back(const std::vector<UnsubscribedEvents>& events) {
  const base::Lock lock{mutex_};
  for (const UnsubscribedEvents& one : events) count(one.topic, one.event_type, one.events);
}

std::map<std::string, std::uint64_t> Unsubscribed::totals() const {
  const base::Lock lock{mutex_};
  return totals_;
}

void note_unsubscribed(Connection& connection, const std::vector<UnsubscribedEvents>& events) {
  if (events.empty()) return;
  using Type = ArrayParameter::Type;
  ArrayParameter topic{Type::text}, type{Type::text}, count{Type::int8};
  for (const UnsubscribedEvents& one : events) {
    topic.add(one.topic);
    type.add(one.event_type);
    count.add(one.events);
  }
  const pqxx::params parameters{topic.finish(), type.finish(), count.finish(),
                                static_cast<std::int64_t>(Unsubscribed::max_types),
                                std::string{Unsubscribed::other_types}};
  connection.access().run(statements::note_unsubscribed, parameters);
}

std::vector<UnsubscribedEvents> read_unsubscribed(Connection& connection, int limit) {
  std::vector<UnsubscribedEvents> out;
  for (const auto& found : run_read(connection, statements::op_unsubscribed, pqxx::params{limit})) {
    RowReader row{found};
    UnsubscribedEvents events;
    events.topic = row.text();
    events.event_type = row.text();
    events.events = row.int8();
    out.push_back(std::move(events));
  }
  return out;
}

void trim_unsubscribed(Connection& connection, std::optional<std::chrono::milliseconds> keep) {
  const auto milliseconds = keep ? std::optional{static_cast<std::int64_t>(keep->count())} : std::nullopt;
  connection.access().run(statements::trim_unsubscribed, pqxx::params{milliseconds});
}

}  // namespace inboxd::inbox
