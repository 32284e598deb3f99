#include "settler/outcomes.hpp"

#include <algorithm>
#include <utility>

#include "base/mutex.hpp"
#include "base/text.hpp"
#include "event/now.hpp"

namespace inboxd::settler {
namespace {

constexpr std::size_t max_classes = 100;
constexpr std::size_t max_key_bytes = 64;
constexpr std::size_t max_message_bytes = 300;

/// By this machine's clock, which may differ from the clock that wrote the record; hence never less than zero.
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

void OutcomeCounts::Entry::note_success_or_failure(const inbox::Settlement& settlement, const EventCounts& events) {
  if (events.done + events.skipped > 0) {
    counts.failed_in_row = 0;
    counts.failing_since.reset();
  } else if (events.retried + events.dead > 0) {
    counts.failed_in_row += static_cast<std::uint64_t>(events.retried + events.dead);
    if (!counts.failing_since) counts.failing_since = std::chrono::steady_clock::now();
  }
  if (settlement.failures.empty()) return;
  const auto& last = settlement.failures.back();
  counts.last_error_class = last.error_class;
  counts.last_failed_event = last.event_id.text();
}

void OutcomeCounts::recorded(const Run& run, const inbox::Settlement& settlement, const EventCounts& counts) {
  const base::Lock lock{mutex_};
  Entry& entry = this->entry(run.lease.handler_id);
  entry.counts.done += static_cast<std::uint64_t>(counts.done);
  entry.counts.retried += static_cast<std::uint64_t>(counts.retried);
  entry.counts.dead += static_cast<std::uint64_t>(counts.dead);
  entry.counts.expired += static_cast<std::uint64_t>(counts.expired);
  entry.counts.skipped += static_cast<std::uint64_t>(counts.skipped);
  for (const auto& failure : settlement.failures) {
    const std::string& name = failure.error_class.empty() ? "none" : failure.error_class;
    const bool fits = entry.counts.failures.contains(name) || entry.counts.failures.size() < max_classes;
    entry.counts.failures[fits ? name : "other"] += 1;
  }
  entry.note_success_or_failure(settlement, counts);
  if (counts.done == 0 || run.lease.events.empty()) return;
  // The events of a run were stored together, so a single time stands for all.
  const event::Event& first = *run.lease.events.front();
  entry.end_to_end.observe(seconds_since(first.kafka_timestamp.value_or(first.received_at)),
                           static_cast<std::uint64_t>(counts.done));
}

void OutcomeCounts::lease_lost(std::int32_t handler_id) {
  const base::Lock lock{mutex_};
  entry(handler_id).counts.leases_lost += 1;
}

std::map<std::int32_t, OutcomeCounts::Handler> OutcomeCounts::all() const {
  const base::Lock lock{mutex_};
  std::map<std::int32_t, Handler> out;
  for (const auto& [id, entry] : entries_) {
    Handler& counts = out[id] = entry->counts;
    counts.end_to_end = entry->end_to_end.snapshot();
  }
  return out;
}

// ---- log

bool FailureLog::Second::take() {
  const bool fits = lines < max_lines;
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

bool FailureLog::is_first(const Run& run, const std::string& error_class, Clock::time_point now) {
  if (sampled_.size() >= max_samples) {
    std::erase_if(sampled_, [&](const auto& sample) { return now - sample.second >= sample_interval; });
    if (sampled_.size() >= max_samples) return false;
  }
  const auto [sample, is_new] = sampled_.try_emplace({run.lease.handler_id, error_class}, now);
  if (!is_new && now - sample->second < sample_interval) return false;
  sample->second = now;
  return true;
}

void FailureLog::recorded(const Run& run, const inbox::Settlement& settlement, Clock::time_point now) {
  const base::Lock lock{mutex_};
  begin_second(now);
  auto dead = settlement.dead.begin();  // in the order of the failures
  using State = inbox::DeadEvent::State;
  const auto is_uncalled = [](const inbox::DeadEvent& each) {
    return each.state == State::parked || each.state == State::expired;
  };
  for (const inbox::FailedAttempt& failure : settlement.failures) {
    dead = std::find_if_not(dead, settlement.dead.end(), is_uncalled);
    const bool died = dead != settlement.dead.end() && dead->event_id == failure.event_id;
    if (died) ++dead;
    const bool is_sample = !died && is_first(run, failure.error_class, now);
    if (!is_sample && !(died ? dead_ : retried_).take()) continue;
    const auto& events = run.lease.events;
    const auto event = std::find_if(events.begin(), events.end(),
                                    [&](const event::Event* each) { return each->event_id == failure.event_id; });
    const bool has_key = event != events.end() && (*event)->key && base::is_utf8(*(*event)->key);
    const base::Logger::Facts facts{
        {"event_id", failure.event_id.text()},
        {"handler", run.handler},
        {"topic", run.lease.place->topic},
        {"partition", run.lease.place->partition},
        {"offset", event == events.end() ? -1 : (*event)->offset},
        {"key", has_key ? base::shorten(*(*event)->key, max_key_bytes) : ""},
        {"attempt", failure.attempt},
        {"error_class", failure.error_class},
        {"error", base::shorten(failure.message.substr(0, failure.message.find('\n')), max_message_bytes)}};
    if (died) {
      log_.warn("settler.event_dead", facts);
    } else if (is_sample) {
      log_.warn("settler.event_failed", facts);
    } else {
      log_.debug("settler.event_retried", facts);
    }
  }
}

}  // namespace inboxd::settler
