// Findings about daemons that crash again and again, and the events that were in flight each time.
#include <algorithm>
#include <map>

#include "operations/status_findings.hpp"

namespace inboxd::operations::findings {
namespace {

using std::chrono::microseconds;

/// Crashes within this time are a crash loop,
constexpr auto loop_span = std::chrono::minutes{15};
/// if a host has this many of them.
constexpr int loop_crashes = 3;
/// A process that is unseen for less may be stopped, or without its database.
constexpr auto long_unseen = std::chrono::minutes{5};

struct Loop {
  int crashes = 0;
  microseconds since{0};  ///< the first of them
};

/// The instances of a host that have crashed: unseen, and each replaced by a process that started later, or unseen for
/// long.
std::vector<const InstanceState*> crashed_of(std::vector<const InstanceState*> of_host) {
  std::vector<const InstanceState*> out;
  std::vector<event::Microseconds> starts;
  for (const InstanceState* instance : of_host) starts.push_back(instance->started_at);
  std::sort(starts.begin(), starts.end());
  std::sort(of_host.begin(), of_host.end(),
            [](const auto* a, const auto* b) { return a->last_seen_at < b->last_seen_at; });
  auto next = starts.begin();
  for (const InstanceState* instance : of_host) {
    if (instance->is_live()) continue;
    next = std::upper_bound(next, starts.end(), instance->last_seen_at);
    const bool is_replaced = next != starts.end();
    if (is_replaced) ++next;  // it replaces no other instance
    if (is_replaced || instance->unseen > long_unseen) out.push_back(instance);
  }
  return out;
}

/// By host.
std::map<std::string, Loop> crash_loops(const std::vector<InstanceState>& instances) {
  std::map<std::string, std::vector<const InstanceState*>> hosts;
  for (const InstanceState& instance : instances) hosts[instance.worker.host].push_back(&instance);
  std::map<std::string, Loop> out;
  for (const auto& [host, of_host] : hosts) {
    Loop loop;
    for (const InstanceState* crashed : crashed_of(of_host)) {
      if (crashed->unseen > loop_span) continue;
      ++loop.crashes;
      loop.since = std::max(loop.since, crashed->unseen);
    }
    if (loop.crashes >= loop_crashes) out.emplace(host, loop);
  }
  return out;
}

std::string text_of(const SuspectState& suspect) {
  std::string out = suspect.handler + " " + suspect.topic + "/" + std::to_string(suspect.partition) + "/" +
                    std::to_string(suspect.offset);
  if (suspect.events > 1) out += " and " + std::to_string(suspect.events - 1) + " more";
  return out;
}

}  // namespace

/// The events with the most crashes: the culprit, or all that may be it.
void crashes(const Situation& situation, List& out) {
  for (const auto& [host, loop] : crash_loops(situation.instances)) {
    std::string in_flight;
    std::string remedy =
        "the log line with kind=daemon.crashed names signal, handler and event; without that line the process was "
        "killed, such as for its use of memory";
    for (const SuspectState& suspect : situation.suspects) {
      if (suspect.crashes < situation.suspects.front().crashes) break;
      if (in_flight.empty()) {
        const bool is_each = suspect.crashes >= loop.crashes;
        in_flight = is_each ? "; in flight each time: " : "; in flight at " + std::to_string(suspect.crashes) + ": ";
        if (!suspect.event_id.empty()) {
          remedy += "; correct the handler, or inboxd events skip " + suspect.event_id;
          remedy += " --handler " + suspect.handler;
        }
      } else {
        in_flight += ", ";
      }
      in_flight += text_of(suspect);
    }
    const auto age = std::max<microseconds>(loop.since, std::chrono::minutes{1});
    out.push_back(make_finding("crash_loop", {{"host", host},
                                              {"crashes", std::to_string(loop.crashes)},
                                              {"age", duration_sentence(age)},
                                              {"in_flight", in_flight},
                                              {"remedy", remedy}})
                      .began(situation.now - loop.since.count()));
  }
}

}  // namespace inboxd::operations::findings
