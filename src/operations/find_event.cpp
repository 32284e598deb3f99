#include "operations/find_event.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "envelope/identity.hpp"
#include "operations/dead_queries.hpp"
#include "operations/partition_queries.hpp"
#include "operations/quarantine_queries.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

template <class Number>
bool read_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0;
}

std::vector<std::string> known_topics(inbox::Connection& connection) {
  std::set<std::string> topics;
  for (const auto& partition : read_partitions(connection, {})) topics.insert(partition.topic);
  return {topics.begin(), topics.end()};
}

/// The likely reason why a place has no event.
std::string hint_for(inbox::Connection& connection, const KafkaPlace& place,
                     const std::vector<PartitionState>& incarnations) {
  const auto records = find_quarantined(connection, place.topic, place.partition, place.offset);
  if (!records.empty()) {
    return "the record is in quarantine (" + records.front().at("reason").get<std::string>() +
           "): inboxd quarantine show " + records.front().at("quarantine_id").dump();
  }
  const auto& newest = incarnations.back();
  if (!newest.position) return "nothing of that partition is ingested yet";
  if (place.offset >= *newest.position) {
    return "not ingested yet: the partition's position is " + std::to_string(*newest.position);
  }
  return "the partition's position is " + std::to_string(*newest.position) +
         ": the record was a duplicate, is older than the start, or its event was purged";
}

FoundEvents find_by_place(inbox::Connection& connection, const KafkaPlace& place,
                          const std::vector<PartitionState>& incarnations) {
  FoundEvents out;
  for (auto newest = incarnations.rbegin(); newest != incarnations.rend(); ++newest) {
    EventPlace wanted;
    wanted.shard_id = newest->shard_id;
    wanted.offset = place.offset;
    if (const auto event = read_event(connection, wanted)) {
      wanted.event_id = event->event_id;
      out.places.push_back(wanted);
      return out;
    }
  }
  out.hint = hint_for(connection, place, incarnations);
  return out;
}

std::vector<EventPlace> places_of_dead(inbox::Connection& connection, const std::vector<base::Uuid>& ids) {
  std::vector<EventPlace> out;
  for (const auto& letter : find_dead(connection, {}, ids)) {
    const auto& event = letter.event;
    const auto is_same = [&](const EventPlace& place) { return place.event_id == event.event_id; };
    if (std::none_of(out.begin(), out.end(), is_same)) {
      out.push_back({event.event_id, event.shard_id, event.offset, std::nullopt, std::nullopt});
    }
  }
  return out;
}

}  // namespace

std::optional<KafkaPlace> parse_place(std::string_view text) {
  const auto last = text.rfind('/');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const auto middle = text.rfind('/', last - 1);
  if (middle == std::string_view::npos || middle == 0) return std::nullopt;
  KafkaPlace place;
  place.topic = text.substr(0, middle);
  if (!read_whole(text.substr(middle + 1, last - middle - 1), place.partition) ||
      !read_whole(text.substr(last + 1), place.offset)) {
    return std::nullopt;
  }
  return place;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  return read_whole(text, number) ? std::optional{number} : std::nullopt;
}

std::vector<base::Uuid> ids_made_of(const std::string& text, const std::string& name_space,
                                    const std::vector<std::string>& sources, const std::vector<std::string>& topics) {
  std::vector<base::Uuid> out;
  if (envelope::problem_with_id(text)) return out;
  base::Arena arena;
  envelope::TopicRules rules;
  rules.name_space = name_space;
  event::Record record;
  envelope::Reading reading;
  reading.id = text;
  const envelope::Input input{record, rules, arena};
  for (const std::string& topic : topics) {
    record.topic = topic;
    out.push_back(envelope::identity_of(reading, input).event_id);
  }
  reading.uniqueness = envelope::Uniqueness::source_and_id;
  for (const std::string& source : sources) {
    reading.source = source;
    out.push_back(envelope::identity_of(reading, input).event_id);
  }
  if (const auto uuid = base::parse_uuid(text)) out.push_back(*uuid);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

FoundEvents find_events(Context& context, const std::string& id) {
  auto& connection = *context.connection;
  if (const auto place = parse_place(id)) {
    auto incarnations = read_partitions(connection, {{place->topic}, false, false});
    std::erase_if(incarnations, [&](const auto& one) { return one.partition != place->partition; });
    if (!incarnations.empty()) return find_by_place(connection, *place, incarnations);
  }
  FoundEvents out;
  std::vector<base::Uuid> ids;
  if (const auto uuid = base::parse_uuid(id)) ids.push_back(*uuid);
  out.places = find_in_ledger(connection, ids);
  if (!out.places.empty()) return out;

  ids = ids_made_of(id, context.name_space, sources_in_use(connection), known_topics(connection));
  out.places = find_in_ledger(connection, ids);
  if (out.places.empty()) out.places = places_of_dead(connection, ids);
  if (!out.places.empty()) return out;

  const auto days = event_days(connection);
  for (std::size_t i = 0; i < days.size() && out.places.empty(); ++i) {
    context.progress({"days searched", static_cast<std::int64_t>(i), static_cast<std::int64_t>(days.size())});
    if (context.pause(std::chrono::milliseconds{0})) break;
    out.places = search_day(connection, ids, id, days[i]);
  }
  if (const auto place = parse_place(id); place && out.places.empty()) {
    const auto topics = known_topics(connection);
    const bool is_known = std::find(topics.begin(), topics.end(), place->topic) != topics.end();
    out.hint = is_known ? "topic " + place->topic + " has no partition " + std::to_string(place->partition)
                        : unknown_name("topic", place->topic, topics).sentence;
  }
  return out;
}

}  // namespace inboxd::operations
