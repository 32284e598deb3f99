// Findings about daemons that crash again and again, and the events that were in flight each time.
#include <algorithm>
#include <map>

#include "operations/status_findings.hpp"

namespace inboxd::operations::findings {
namespace {

using std::chrono::microseconds;

/// Crashes within this time are one loop,
constexpr auto loop_span = std::chrono::minutes{15};
/// if there are so many of one host.
constexpr int loop_crashes = 3;

struct Loop {
  int crashes = 0;
  microseconds since{0};  ///< the first of them
};

/// Unclean exits by host.
std::map<std::string, Loop> crash_loops(const std::vector<InstanceState>& instances) {
  std::map<std::string, Loop> out;
  for (const InstanceState& instance : instances) {
    if (instance.is_live() || instance.unseen > loop_span) continue;
    Loop& loop = out[instance.worker.host];
    ++loop.crashes;
    loop.since = std::max(loop.since, instance.unseen);
  }
  std::erase_if(out, [](const auto& loop) { return loop.second.crashes < loop_crashes; });
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
    std::string remedy = "the log line with kind=daemon.crashed names signal, handler and event";
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
                                              {"remedy", remedy}}));
  }
}

}  // namespace inboxd::operations::findings
