#include "settler/tallies.hpp"

#include <algorithm>
#include <chrono>

#include "event/now.hpp"

namespace inboxd::settler {
namespace {

constexpr std::size_t most_classes = 100;

/// By this machine's clock, which may differ from the one that wrote the record: never less than nothing.
double seconds_since(event::Microseconds time) {
  return static_cast<double>(std::max<std::int64_t>(event::now() - time, 0)) / 1e6;
}

}  // namespace

Tallies::Kept& Tallies::kept(std::int32_t handler_id) {
  auto& out = kept_[handler_id];
  if (!out) out = std::make_unique<Kept>();
  return *out;
}

void Tallies::recorded(const Run& run, const inbox::Settlement& settlement, std::int64_t done, std::int64_t retried,
                       std::int64_t dead) {
  const std::lock_guard lock{mutex_};
  Kept& kept = this->kept(run.lease.handler_id);
  kept.tally.done += static_cast<std::uint64_t>(done);
  kept.tally.retried += static_cast<std::uint64_t>(retried);
  kept.tally.dead += static_cast<std::uint64_t>(dead);
  for (const auto& failure : settlement.failures) {
    const std::string& name = failure.error_class.empty() ? "none" : failure.error_class;
    const bool fits = kept.tally.failures.contains(name) || kept.tally.failures.size() < most_classes;
    kept.tally.failures[fits ? name : "other"] += 1;
  }
  if (done == 0 || run.lease.events.empty()) return;
  // The events of a run came together: one time stands for all.
  const event::Event& first = *run.lease.events.front();
  kept.end_to_end.observe(seconds_since(first.kafka_timestamp.value_or(first.received_at)),
                          static_cast<std::uint64_t>(done));
}

void Tallies::lease_lost(std::int32_t handler_id) {
  const std::lock_guard lock{mutex_};
  kept(handler_id).tally.leases_lost += 1;
}

std::map<std::int32_t, Tallies::Tally> Tallies::all() const {
  const std::lock_guard lock{mutex_};
  std::map<std::int32_t, Tally> out;
  for (const auto& [id, kept] : kept_) {
    Tally& tally = out[id] = kept->tally;
    tally.end_to_end = kept->end_to_end.snapshot();
  }
  return out;
}

}  // namespace inboxd::settler
