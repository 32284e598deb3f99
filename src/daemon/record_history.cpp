// A step of the history, from figures that the parts keep anyway.
#include <algorithm>

#include "daemon/daemon.hpp"
#include "event/now.hpp"

namespace inboxd::daemon {
namespace {

constexpr std::int64_t second = 1'000'000;
/// Counts of an older time say nothing of now: the database is away, or counting fails. See pause_after_count.
constexpr std::int64_t max_count_age = 130 * second;
/// Three heartbeats.
constexpr std::int64_t max_answer_age = 15 * second;

void add_counted(const maintenance::Maintenance::Observed& observed, history::Sample& out) {
  const std::int64_t now = event::now();
  if (now - observed.at_us > max_count_age || now - observed.answered_us > max_answer_age) return;
  for (const auto& [topic, place] : observed.places) out.topics[topic].place = place;
  for (const operations::HandlerState& handler : observed.handlers) {
    const auto found = out.handlers.find(handler.name);
    if (found == out.handlers.end()) continue;
    found->second.waiting = handler.pending().number;
    found->second.dead = handler.dead.number;
  }
}

}  // namespace

history::Sample Daemon::history_sample() const {
  history::Sample out;
  for (const auto& [topic, received] : consumer_.status().received()) {
    out.topics[topic] = {received.records, received.quarantined};
  }
  const auto outcomes = settler_.outcomes().all();
  for (const auto& [id, name] : handlers()) {
    history::HandlerSample& handler = out.handlers[name];
    dispatcher::Stats stats = dispatcher_.stats(id);
    handler.calls = std::move(stats.calls);
    handler.running_calls = stats.running_calls;
    handler.allowed = stats.concurrency;
    handler.blocked_keys = static_cast<std::int64_t>(stats.blocked_keys);
    const auto found = outcomes.find(id);
    if (found == outcomes.end()) continue;
    handler.done = found->second.done + found->second.skipped;
    handler.failed = found->second.retried + found->second.dead;
    handler.failures = found->second.failures;
  }
  add_counted(maintenance_.observed(), out);
  return out;
}

/// Marks the beginning and the end of each fault that this process sees.
void Daemon::note_faults() {
  const auto observed = maintenance_.observed();
  std::map<std::string, std::string> now;
  if (const auto problem = current_problem()) now["instance"] = *problem;
  if (observed.answered_us > 0 && event::now() - observed.answered_us > max_answer_age) {
    now["database"] = "the database does not answer";
  }
  for (const auto& reading : observed.readings) {
    if (!reading.is_halted) continue;
    const std::string partition = reading.topic + "/" + std::to_string(reading.partition);
    now["partition " + partition] = "partition " + partition + " is halted";
  }
  for (const auto& [id, name] : handlers()) {
    if (dispatcher_.stats(id).away) now["service " + name] = "the service of handler " + name + " is away";
  }
  for (const auto& [fault, text] : now) {
    if (!faults_.contains(fault)) history_.note({event::now(), "fault", text});
  }
  for (const auto& [fault, text] : faults_) {
    if (!now.contains(fault)) history_.note({event::now(), "recovered", "over: " + text});
  }
  faults_ = std::move(now);
}

void Daemon::record_history() {
  const std::int64_t wall = event::now() / second;
  if (!history_.is_due(wall)) return;
  history_.record(history_sample(), wall, history::History::Clock::now());
  note_faults();
}

}  // namespace inboxd::daemon
