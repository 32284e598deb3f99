// Findings about handlers that live daemons configure differently, and about the traces of that in the database.
#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "config/units.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::operations::findings {
namespace {

using Daemons = std::vector<const RegisteredHandler*>;

/// A deploy makes settings differ for about this time.
constexpr std::chrono::minutes deploy{1};
constexpr std::size_t max_keys = 5;

std::vector<Daemons> by_handler(const Situation& situation) {
  std::vector<Daemons> out;
  for (const RegisteredHandler& each : situation.registered) {
    if (out.empty() || out.back().front()->handler_id != each.handler_id) out.emplace_back();
    out.back().push_back(&each);
  }
  return out;
}

std::string topics_text(std::vector<std::string> topics) {
  if (topics.empty() || topics.front() == "*") return "all topics";
  return (topics.size() == 1 ? "topic " : "topics ") + base::joined(topics);
}

/// ` of vm (process 7)`, if the daemon that registered last still lives.
std::string newest_text(const Daemons& daemons, bool (*agrees)(const RegisteredHandler&)) {
  const auto newest = std::find_if(daemons.begin(), daemons.end(), [&](const auto* each) { return agrees(*each); });
  return newest == daemons.end() ? "" : " of " + name_of((*newest)->worker);
}

void add_lost_topics(const Daemons& daemons, event::Microseconds now, List& out) {
  for (const RegisteredHandler* each : daemons) {
    const auto lost = each->lost_topics();
    if (lost.empty()) continue;
    const auto agrees = [](const RegisteredHandler& one) { return one.own_topics == one.topics; };
    out.push_back(make_finding("handler_rerouted",
                               {{"handler", each->handler},
                                {"topics", topics_text(lost)},
                                {"since", config::time_text(each->changed_at)},
                                {"daemon", name_of(each->worker)},
                                {"of_newest", newest_text(daemons, agrees)},
                                {"now", topics_text(each->topics)},
                                {"backfill", backfill_command(each->handler, each->changed_at, now, lost)}}));
  }
}

void add_other_order(const Daemons& daemons, List& out) {
  for (const RegisteredHandler* each : daemons) {
    if (!each->has_other_order()) continue;
    const auto agrees = [](const RegisteredHandler& one) { return !one.has_other_order(); };
    out.push_back(make_finding("handler_order_differs", {{"handler", each->handler},
                                                         {"daemon", name_of(each->worker)},
                                                         {"order", each->own_order},
                                                         {"of_newest", newest_text(daemons, agrees)},
                                                         {"now", each->order}}));
  }
}

/// A key that only the older or the newer release knows is no difference.
void add_keys(const RegisteredHandler& one, const RegisteredHandler& other, std::set<std::string>& out) {
  for (const auto& [key, digest] : one.keys) {
    const auto found = other.keys.find(key);
    const bool is_missing = found == other.keys.end() && one.version == other.version;
    if (is_missing || (found != other.keys.end() && found->second != digest)) out.insert(key);
  }
}

void add_other_settings(const Daemons& daemons, List& out) {
  std::set<std::string> keys;
  std::vector<std::string> names;
  const RegisteredHandler& newest = *daemons.front();
  if (newest.since < deploy) return;
  for (const RegisteredHandler* each : daemons) {
    std::set<std::string> differing;
    add_keys(newest, *each, differing);
    add_keys(*each, newest, differing);
    if (differing.empty()) continue;
    if (names.empty()) names.push_back(name_of(newest.worker));
    names.push_back(name_of(each->worker));
    keys.insert(differing.begin(), differing.end());
  }
  if (keys.empty()) return;
  std::vector<std::string> shown{keys.begin(), keys.end()};
  const bool is_cut = shown.size() > max_keys;
  if (is_cut) shown.resize(max_keys);
  out.push_back(make_finding("handler_settings_differ", {{"handler", newest.handler},
                                                         {"keys", base::joined(shown) + (is_cut ? ", and others" : "")},
                                                         {"daemons", base::joined(names)}}));
}

}  // namespace

void disagreements(const Situation& situation, List& out) {
  for (const Daemons& daemons : by_handler(situation)) {
    add_lost_topics(daemons, situation.now, out);
    add_other_order(daemons, out);
    add_other_settings(daemons, out);
  }
}

void subscription_gaps(const Situation& situation, List& out) {
  for (const SubscriptionGap& gap : situation.gaps) {
    out.push_back(make_finding("subscription_gap",
                               {{"handler", gap.handler},
                                {"topics", topics_text({gap.topic})},
                                {"since", config::time_text(gap.from)},
                                {"until", config::time_text(gap.to)},
                                {"backfill", backfill_command(gap.handler, gap.from, gap.to, {gap.topic})}}));
  }
}

void misplaced_rows(const Situation& situation, List& out) {
  for (const inbox::MisplacedRows& rows : situation.misplaced) {
    out.push_back(make_finding(
        "rows_misplaced", {{"handler", rows.handler}, {"mode", rows.mode}, {"order_scope", rows.order_scope}}));
  }
}

bool is_rerouted(const Situation& situation, const std::string& handler) {
  return std::any_of(situation.registered.begin(), situation.registered.end(), [&](const RegisteredHandler& each) {
    return each.handler == handler && !each.lost_topics().empty();
  });
}

}  // namespace inboxd::operations::findings
