// Findings about handlers, from their registrations and their pending events.
#include <algorithm>

#include "base/text.hpp"
#include "config/suggest.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::operations::findings {
namespace {

constexpr auto long_waiting = std::chrono::minutes{5};

/// ` (did you mean orders?)`; empty if no candidate is similar.
std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const auto near = config::closest(word, candidates);
  return near ? " (did you mean " + *near + "?)" : "";
}

}  // namespace

/// Removed from every configuration, or renamed without an alias.
void handlers_without_instance(const Situation& situation, List& out) {
  for (const auto& handler : operations::handlers_without_instance(situation.handlers, situation.instances)) {
    out.push_back(
        make_finding("handler_without_instance",
                     {{"handler", handler.name}, {"pending", count_text(handler.pending(), "pending event")}}));
  }
}

/// Retired handlers that a configuration still names.
void retired_handlers(const Situation& situation, List& out) {
  for (const auto& handler : situation.retired) {
    std::vector<std::string> daemons;
    for (const auto& instance : situation.instances) {
      const auto& ids = instance.handlers;
      if (!instance.is_live() || std::find(ids.begin(), ids.end(), handler.handler_id) == ids.end()) continue;
      daemons.push_back(instance.worker.host + " (process " + std::to_string(instance.worker.process_id) + ")");
    }
    if (daemons.empty()) continue;
    out.push_back(
        make_finding("handler_retired", {{"handler", handler.name}, {"daemons", base::joined(daemons)}}));
  }
}

void unread_topics(const Situation& situation, List& out) {
  std::vector<std::string> read;
  for (const auto& instance : situation.instances) {
    if (instance.is_live()) read.insert(read.end(), instance.topics.begin(), instance.topics.end());
  }
  for (const auto& [handler, topic] : unread_subscriptions(situation.handlers, situation.instances)) {
    if (is_rerouted(situation, handler)) continue;
    out.push_back(make_finding("topic_not_read",
                               {{"handler", handler}, {"topic", topic}, {"suggestion", suggestion(topic, read)}}));
  }
}

void state_of_handlers(const Situation& situation, List& out) {
  for (const auto& handler : situation.handlers) {
    if (handler.retired_at) continue;
    const std::pair<std::string_view, std::string> name{"handler", handler.name};
    if (handler.paused_reason) {
      const char* const kind = handler.has_paused_itself ? "handler_paused_itself" : "handler_paused";
      out.push_back(make_finding(kind, {name, {"reason", *handler.paused_reason}}));
    } else if (handler.oldest_due_age && *handler.oldest_due_age > long_waiting) {
      out.push_back(make_finding("handler_behind", {name, {"age", duration_sentence(*handler.oldest_due_age)}}));
    }
    if (handler.parked > 0) {
      out.push_back(make_finding("events_parked", {name, {"parked", std::to_string(handler.parked)}}));
    }
    if (handler.dead.number > 0) {
      out.push_back(make_finding("dead_letters", {name, {"dead", count_text(handler.dead, "dead letter")}}));
    }
  }
}

}  // namespace inboxd::operations::findings
