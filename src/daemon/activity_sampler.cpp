#include "daemon/activity_sampler.hpp"

#include "base/text.hpp"

namespace inboxd::daemon {
namespace {

using Age = inbox::HandlerActivity::Age;

Age age_of(ActivitySampler::Clock::duration duration) { return std::chrono::duration_cast<Age>(duration); }

}  // namespace

inbox::HandlerActivity ActivitySampler::sample(std::int32_t handler_id, const ActivitySample& now,
                                               Clock::time_point at) {
  const auto& [stats, outcomes, pending] = now;
  const Point point{at,
                    outcomes.done + outcomes.skipped,
                    outcomes.retried + outcomes.dead,
                    stats.calls.count(),
                    stats.calls.sum,
                    pending};
  auto& points = points_[handler_id];
  while (!points.empty() && at - points.front().at > span) points.pop_front();
  if (points.empty() || at - points.back().at >= between_samples) points.push_back(point);
  const Point& first = points.front();

  inbox::HandlerActivity out;
  out.handler_id = handler_id;
  out.running_calls = stats.running_calls;
  out.concurrency = stats.concurrency;
  out.in_memory = stats.in_flight;
  out.blocked_keys = static_cast<std::int64_t>(stats.blocked_keys);
  out.limited = stats.limited;
  out.span = age_of(at - first.at);
  out.done = static_cast<std::int64_t>(point.done - first.done);
  out.failed = static_cast<std::int64_t>(point.failed - first.failed);
  if (point.calls > first.calls) {
    out.call_seconds = (point.call_seconds - first.call_seconds) / static_cast<double>(point.calls - first.calls);
  }
  for (const Point& earlier : points) {
    if (at - earlier.at > growth_span || !earlier.pending || !pending) continue;
    // Per growth_span, so that a short history does not look like a slow growth.
    const std::chrono::duration<double> passed = at - earlier.at;
    if (passed >= growth_span / 4) {
      out.grown = static_cast<std::int64_t>(static_cast<double>(*pending - *earlier.pending) *
                                            static_cast<double>(growth_span.count()) / passed.count());
    }
    break;
  }
  out.failed_in_row = static_cast<std::int64_t>(outcomes.failed_in_row);
  if (outcomes.failing_since) out.failing_for = age_of(at - *outcomes.failing_since);
  out.last_error_class = outcomes.last_error_class;
  out.last_failed_event = outcomes.last_failed_event;
  if (stats.away) out.away_for = stats.away_for;
  out.away_error = stats.away_error;
  out.unkeyed = stats.unkeyed;
  out.without_value = stats.bodies.without_value;
  if (out.without_value > 0) out.body_paths = base::joined(stats.bodies.paths);
  return out;
}

}  // namespace inboxd::daemon
