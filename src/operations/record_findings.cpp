// Findings about stored records: events that no handler gets, and the quarantine.
#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "config/suggest.hpp"
#include "inbox/handler_registration.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::operations::findings {
namespace {

/// The most groups of quarantined records that a line names.
constexpr std::size_t max_groups = 3;
constexpr std::size_t max_detail = 200;

/// The most similar subscription to a type, among handlers that subscribe to the topic.
std::string nearest_subscription(const Situation& situation, const inbox::UnsubscribedEvents& events) {
  std::map<std::string, std::string> handler_of;
  std::vector<std::string> types;
  for (const auto& handler : situation.handlers) {
    if (handler.retired_at || !inbox::matches(events.topic, handler.topics)) continue;
    for (const std::string& type : handler.types) {
      if (handler_of.emplace(type, handler.name).second) types.push_back(type);
    }
  }
  const auto near = config::closest(events.event_type, types);
  if (!near) return "";
  return "; handler " + handler_of.at(*near) + " subscribes to " + *near + ": did you mean " + events.event_type + "?";
}

/// This many dead letters within ten minutes are more than single bad events.
constexpr std::int64_t many_letters = 10;
/// This few records may be single bad records of a quiet topic.
constexpr std::int64_t few_records = 3;

std::string remedy_for_quarantined(const std::string& topic, const std::string& reason, bool are_empty) {
  const std::string retry = ", restart the daemon, then inboxd quarantine retry --topic " + topic;
  if (reason == "no_id" && are_empty) {
    return "the values are empty: set tombstones: skip for topic " + topic +
           ", restart the daemon, then inboxd quarantine discard --topic " + topic;
  }
  if (reason == "no_id") return "set on_missing_id or custom.id (with envelope: custom) for topic " + topic + retry;
  if (reason == "bad_id") return "correct custom.id of topic " + topic + retry;
  if (reason == "too_large") {
    return "raise payload_limit of topic " + topic +
           ", restart the daemon, then inboxd partitions seek while Kafka has the records (inboxd quarantine list "
           "--topic " +
           topic + ")";
  }
  return "inboxd quarantine list --topic " + topic;
}

/// `, 544 of them in the last minute, all sql.23514: …`.
std::string recent_text(const DeadGrowth& growth) {
  const bool is_sudden = growth.of_minute * 2 >= growth.letters;
  std::string out = ", " + std::to_string(is_sudden ? growth.of_minute : growth.letters) + " of them in the last " +
                    (is_sudden ? "minute" : "hour");
  if (growth.error_class.empty()) return out;
  out += growth.of_class == growth.letters ? ", all " : ", most ";
  return out + growth.error_class + (growth.message.empty() ? "" : ": " + base::shorten(growth.message, max_detail));
}

}  // namespace

void events_without_handler(const Situation& situation, List& out) {
  for (const auto& events : situation.unsubscribed) {
    out.push_back(make_finding("events_without_handler",
                               {{"events", std::to_string(events.events)},
                                {"topic", events.topic},
                                {"type", events.event_type.empty() ? "without a type" : "type " + events.event_type},
                                {"suggestion", nearest_subscription(situation, events)}}));
  }
}

void dead_letters(const Situation& situation, List& out) {
  for (const auto& handler : situation.handlers) {
    if (handler.retired_at || handler.dead.number == 0) continue;
    const auto growth = std::find_if(situation.dead_growth.begin(), situation.dead_growth.end(),
                                     [&](const auto& each) { return each.handler_id == handler.handler_id; });
    const bool is_new = growth != situation.dead_growth.end();
    const bool grows = is_new && growth->of_ten_minutes >= many_letters;
    const bool have_one_class = is_new && growth->of_class == growth->letters && !growth->error_class.empty();
    out.push_back(make_finding(grows ? "dead_letters_grow" : "dead_letters",
                               {{"handler", handler.name},
                                {"dead", count_text(handler.dead, "dead letter")},
                                {"recent", is_new ? recent_text(*growth) : ""},
                                {"filter", have_one_class ? " --error " + growth->error_class : ""}})
                      .began(is_new ? std::optional{growth->first_at} : std::nullopt));
  }
}

namespace {

/// Kafka is younger: an earlier time is not the event's.
constexpr event::Microseconds earliest_likely = 946'684'800'000'000;  // 2000-01-01

}  // namespace

void expired_topics(const Situation& situation, List& out) {
  for (const ExpiredTopic& expired : situation.expired) {
    const HandlerState* const handler = situation.handler(expired.handler_id);
    if (handler == nullptr || expired.events < few_records) continue;
    const std::string replay = "; then inboxd dead replay --handler " + handler->name;
    const bool is_misread = expired.latest < earliest_likely;
    out.push_back(make_finding("events_expire",
                               {{"handler", handler->name},
                                {"topic", expired.topic},
                                {"events", std::to_string(expired.events)},
                                {"since", clock_text(expired.first_at)},
                                {"time", clock_text(expired.latest)},
                                {"remedy", is_misread
                                               ? "set custom.time_unit of the topic to the unit of its times, or "
                                                 "correct the producer's clock" + replay
                                               : "raise expire_after of handler " + handler->name + replay}})
                      .began(expired.first_at));
  }
}

namespace {

bool is_mostly_quarantined(const QuarantineGrowth& growth) {
  return growth.records >= few_records && growth.records >= growth.stored;
}

void quarantined_topics(const Situation& situation, List& out) {
  for (const QuarantineGrowth& growth : situation.quarantine_growth) {
    if (!is_mostly_quarantined(growth)) continue;
    const std::string records = std::to_string(growth.records);
    const std::string of_all = " of " + std::to_string(growth.records + growth.stored) + " records";
    out.push_back(make_finding("topic_quarantined",
                               {{"records", growth.stored == 0 ? "all " + records + " records" : records + of_all},
                                {"topic", growth.topic},
                                {"since", clock_text(growth.first_at)},
                                {"reason", growth.reason},
                                {"detail", in_brackets(base::shorten(growth.detail, max_detail))},
                                {"remedy", remedy_for_quarantined(growth.topic, growth.reason, growth.are_empty)}})
                      .began(growth.first_at));
  }
}

}  // namespace

void quarantine(const Situation& situation, List& out) {
  const auto& [groups, total] = situation.quarantine;
  quarantined_topics(situation, out);
  if (total.number == 0) return;
  std::int64_t recent = 0;
  bool are_empty = !situation.quarantine_growth.empty();
  for (const auto& growth : situation.quarantine_growth) {
    recent += growth.records;
    are_empty = are_empty && growth.are_empty;
  }
  std::string named;
  if (groups.size() == 1) named = ", all of topic " + groups[0].topic + ", reason " + groups[0].reason;
  for (std::size_t i = 0; groups.size() > 1 && i < std::min(groups.size(), max_groups); ++i) {
    named += (i == 0 ? ": " : ", ") + std::to_string(groups[i].records) + " of topic " + groups[i].topic + ", reason " +
             groups[i].reason;
  }
  if (groups.size() > max_groups) named += ", and others";
  // A problem has the details already.
  const bool is_told = groups.size() == 1 && situation.quarantine_growth.size() == 1 &&
                       is_mostly_quarantined(situation.quarantine_growth[0]) && recent == total.number;
  if (is_told) return;
  const std::string remedy = groups.size() == 1
                                 ? remedy_for_quarantined(groups[0].topic, groups[0].reason, are_empty)
                                 : "inboxd quarantine list";
  const std::string growth = recent > 0 ? ", " + std::to_string(recent) + " in the last hour" : "";
  out.push_back(make_finding(
      "quarantine",
      {{"records", count_text(total)}, {"groups", named}, {"recent", growth}, {"remedy", remedy}}));
}

}  // namespace inboxd::operations::findings
