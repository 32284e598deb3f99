// Findings about stored records: events that no handler gets, and the quarantine.
#include <algorithm>
#include <map>

#include "config/suggest.hpp"
#include "inbox/handler_registration.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::operations::findings {
namespace {

/// The most groups of quarantined records that one line names.
constexpr std::size_t most_groups = 3;

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

std::string remedy_for_quarantined(const std::string& reason) {
  if (reason == "no_id") {
    return "set topics[].on_missing_id or envelope: custom, restart the daemon, then inboxd quarantine retry";
  }
  if (reason == "bad_id") return "correct custom.id, restart the daemon, then inboxd quarantine retry";
  if (reason == "too_large") return "raise topics[].payload_limit";
  return "inboxd quarantine list";
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

void quarantine(const Situation& situation, List& out) {
  const auto& [groups, total] = situation.quarantine;
  if (total.number == 0) return;
  std::string named;
  if (groups.size() == 1) named = ", all of topic " + groups[0].topic + ", reason " + groups[0].reason;
  for (std::size_t i = 0; groups.size() > 1 && i < std::min(groups.size(), most_groups); ++i) {
    named += (i == 0 ? ": " : ", ") + std::to_string(groups[i].records) + " of topic " + groups[i].topic + ", reason " +
             groups[i].reason;
  }
  if (groups.size() > most_groups) named += ", and others";
  out.push_back(make_finding(
      "quarantine",
      {{"records", count_text(total)},
       {"groups", named},
       {"remedy", groups.size() == 1 ? remedy_for_quarantined(groups[0].reason) : "inboxd quarantine list"}}));
}

}  // namespace inboxd::operations::findings
