#include "settler/outcomes.hpp"

#include <algorithm>
#include <utility>

#include "event/now.hpp"

namespace inboxd::settler {
namespace {

constexpr std::size_t most_classes = 100;

/// By this machine's clock, which may differ from the one that wrote the record; hence never less than zero.
double seconds_since(event::Microseconds time) {
  return static_cast<double>(std::max<std::int64_t>(event::now() - time, 0)) / 1e6;
}

}  // namespace

// ---- metrics

OutcomeCounts::Entry& OutcomeCounts::entry(std::int32_t handler_id) {
  auto& out = entries_[handler_id];
  if (!out) out = std::make_unique<Entry>();
  return *out;
}

void OutcomeCounts::recorded(const Run& run, const inbox::Settlement& settlement, const EventCounts& counts) {
  const std::lock_guard lock{mutex_};
  Entry& entry = this->entry(run.lease.handler_id);
  entry.counts.done += static_cast<std::uint64_t>(counts.done);
  entry.counts.retried += static_cast<std::uint64_t>(counts.retried);
  entry.counts.dead += static_cast<std::uint64_t>(counts.dead);
  entry.counts.expired += static_cast<std::uint64_t>(counts.expired);
  entry.counts.skipped += static_cast<std::uint64_t>(counts.skipped);
  for (const auto& failure : settlement.failures) {
    const std::string& name = failure.error_class.empty() ? "none" : failure.error_class;
    const bool fits = entry.counts.failures.contains(name) || entry.counts.failures.size() < most_classes;
    entry.counts.failures[fits ? name : "other"] += 1;
  }
  if (counts.done == 0 || run.lease.events.empty()) return;
  // The events of a run were stored together, so one time stands for all.
  const event::Event& first = *run.lease.events.front();
  entry.end_to_end.observe(seconds_since(first.kafka_timestamp.value_or(first.received_at)),
                           static_cast<std::uint64_t>(counts.done));
}

void OutcomeCounts::lease_lost(std::int32_t handler_id) {
  const std::lock_guard lock{mutex_};
  entry(handler_id).counts.leases_lost += 1;
}

std::map<std::int32_t, OutcomeCounts::Handler> OutcomeCounts::all() const {
  const std::lock_guard lock{mutex_};
  std::map<std::int32_t, Handler> out;
  for (const auto& [id, entry] : entries_) {
    Handler& counts = out[id] = entry->counts;
    counts.end_to_end = entry->end_to_end.snapshot();
  }
  return out;
}

// ---- log

bool FailureLog::Second::take() {
  const bool fits = lines < most_lines;
  ++(fits ? lines : left_out);
  return fits;
}

void FailureLog::begin_second(Clock::time_point now) {
  if (now - since_ < std::chrono::seconds{1}) return;
  since_ = now;
  const Second dead = std::exchange(dead_, {}), retried = std::exchange(retried_, {});
  if (dead.left_out > 0) log_.warn("settler.events_dead", {{"events", dead.left_out}});
  if (retried.left_out > 0) {
    log_.debug("settler.events_retried", {{"events", retried.left_out}});
  }
}

void FailureLog::recorded(const Run& run, const inbox::Settlement& settlement, Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  begin_second(now);
  const inbox::Place& place = *run.lease.place;
  auto dead = settlement.dead.begin();  // in the order of the failures
  using State = inbox::DeadEvent::State;
  const auto is_uncalled = [](const inbox::DeadEvent& each) {
    return each.state == State::parked || each.state == State::expired;
  };
  for (const inbox::FailedAttempt& failure : settlement.failures) {
    dead = std::find_if_not(dead, settlement.dead.end(), is_uncalled);
    const bool died = dead != settlement.dead.end() && dead->event_id == failure.event_id;
    if (died && dead_.take()) {
      log_.warn("settler.event_dead", {{"event_id", failure.event_id.text()},
                                       {"handler", run.handler},
                                       {"topic", place.topic},
                                       {"partition", place.partition},
                                       {"offset", dead->offset},
                                       {"attempts", failure.attempt},
                                       {"error_class", failure.error_class}});
    } else if (!died && retried_.take()) {
      log_.debug("settler.event_retried", {{"event_id", failure.event_id.text()},
                                           {"handler", run.handler},
                                           {"topic", place.topic},
                                           {"partition", place.partition},
                                           {"attempt", failure.attempt},
                                           {"error_class", failure.error_class}});
    }
    if (died) ++dead;
  }
}

}  // namespace inboxd::settler
