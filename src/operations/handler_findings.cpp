// Findings about handlers, from their registrations and their pending events.
#include <algorithm>

#include "base/text.hpp"
#include "config/suggest.hpp"
#include "config/units.hpp"
#include "inbox/problem_text.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::operations::findings {
namespace {

constexpr auto long_waiting = std::chrono::minutes{5};

/// ` (did you mean orders?)`; empty if no candidate is similar.
std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const auto near = config::closest(word, candidates);
  return near ? " (did you mean " + *near + "?)" : "";
}

/// `; the last daemon, vm (process 7), ended 18 minutes ago`; empty if it is not known.
std::string last_daemon(const Situation& situation, const HandlerState& handler) {
  const auto ended = situation.ended.find(handler.handler_id);
  if (ended == situation.ended.end()) return "";
  const auto& [worker, last_seen_at] = ended->second;
  const std::chrono::microseconds ago{std::max<std::int64_t>(situation.now - last_seen_at, 0)};
  return "; the last daemon, " + name_of(worker) + ", ended " + duration_sentence(ago) + " ago";
}

/// An error that a fuse quotes may contain anything: only this reason has a remedy of ours.
constexpr std::string_view at_limit = "dead letters have reached retention.dead_letter_bytes";

StatusFinding paused(const HandlerState& handler) {
  const bool is_limit = handler.has_paused_itself && handler.paused_reason->starts_with(at_limit);
  const auto [reason, remedy] =
      is_limit ? inbox::problem_of(*handler.paused_reason) : inbox::ProblemText{*handler.paused_reason};
  const char* const kind = is_limit                    ? "handler_paused_at_limit"
                           : handler.has_paused_itself ? "handler_paused_itself"
                                                       : "handler_paused";
  return make_finding(kind, {{"handler", handler.name}, {"reason", reason}, {"remedy", remedy}});
}

}  // namespace

/// Removed from every configuration, or renamed without an alias.
void handlers_without_instance(const Situation& situation, List& out) {
  for (const auto& handler : operations::handlers_without_instance(situation)) {
    out.push_back(
        make_finding("handler_without_instance",
                     {{"handler", handler.name},
                      {"pending", count_text(handler.pending(), "pending event")},
                      {"last", last_daemon(situation, handler)}}));
  }
}

/// Retired handlers that a configuration still names.
void retired_handlers(const Situation& situation, List& out) {
  for (const auto& handler : situation.retired) {
    std::vector<std::string> daemons;
    for (const auto& instance : situation.instances) {
      if (instance.has(handler.handler_id)) daemons.push_back(name_of(instance.worker));
    }
    if (daemons.empty()) continue;
    out.push_back(
        make_finding("handler_retired", {{"handler", handler.name}, {"daemons", base::joined(daemons)}}));
  }
}

/// Of the caller's file, while daemons with other files run.
void unregistered_handlers(const Situation& situation, List& out) {
  std::vector<std::string> missing;
  for (const std::string& name : situation.configured) {
    const auto is_it = [&](const HandlerState& handler) { return handler.name == name; };
    if (std::none_of(situation.handlers.begin(), situation.handlers.end(), is_it) &&
        std::none_of(situation.retired.begin(), situation.retired.end(), is_it)) {
      missing.push_back(name);
    }
  }
  if (missing.empty() || !situation.any_live()) return;
  const bool is_one = missing.size() == 1;
  out.push_back(make_finding("handlers_not_registered",
                             {{"handlers", (is_one ? "handler " : "handlers ") + base::joined(missing)},
                              {"verb", is_one ? "is" : "are"}}));
}

void unread_topics(const Situation& situation, List& out) {
  std::vector<std::string> read;
  for (const auto& instance : situation.instances) {
    if (instance.is_live()) read.insert(read.end(), instance.topics.begin(), instance.topics.end());
  }
  std::string without_daemon;
  for (const auto& [handler, topic] : unread_subscriptions(situation)) {
    if (is_rerouted(situation, handler)) continue;
    const auto is_it = [&name = handler](const HandlerState& each) { return each.name == name; };
    const auto state = std::find_if(situation.handlers.begin(), situation.handlers.end(), is_it);
    const bool is_ended = situation.ended.contains(state->handler_id) && !situation.is_run(*state);
    if (is_ended && (state->pending().number > 0 || handler == without_daemon)) continue;  // said already
    if (is_ended) {
      without_daemon = handler;
      out.push_back(make_finding("handler_daemon_ended",
                                 {{"handler", handler}, {"last", last_daemon(situation, *state)}})
                        .began(situation.ended.at(state->handler_id).last_seen_at));
      continue;
    }
    out.push_back(make_finding("topic_not_read",
                               {{"handler", handler}, {"topic", topic}, {"suggestion", suggestion(topic, read)}}));
  }
}

void state_of_handlers(const Situation& situation, List& out) {
  for (const auto& handler : situation.handlers) {
    if (handler.retired_at) continue;
    const std::pair<std::string_view, std::string> name{"handler", handler.name};
    if (handler.paused_reason) {
      out.push_back(paused(handler));
    } else if (handler.oldest_due_age && *handler.oldest_due_age > long_waiting) {
      out.push_back(make_finding("handler_behind", {name, {"age", duration_sentence(*handler.oldest_due_age)}})
                        .began(situation.now - handler.oldest_due_age->count()));
    }
    if (handler.held_by_gone > 0 && handler.held_until) {
      out.push_back(make_finding("events_held", {name,
                                                 {"events", std::to_string(handler.held_by_gone)},
                                                 {"until", config::time_text(*handler.held_until)}}));
    }
    if (handler.parked > 0) {
      out.push_back(make_finding("events_parked", {name, {"parked", std::to_string(handler.parked)}}));
    }
  }
}

}  // namespace inboxd::operations::findings
