#include "consumer/routing.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "inbox/sequence.hpp"

namespace inboxd::consumer {
namespace {

/// Cuts the events of a handler into runs.
class RunBuilder {
 public:
  RunBuilder(HandlerRuns& planned, int run_events, event::Microseconds now)
      : planned_{planned}, run_events_{run_events}, now_{now} {}

  void add(const event::Event& event, bool may_wait) {
    const bool waits = may_wait && is_early(event, now_);
    const auto due = waits ? event.deliver_at : std::nullopt;
    Open& open = waits ? waiting_ : fresh_;
    if (must_begin(open, event, due)) {
      inbox::PlannedRun run;
      run.handler_id = planned_.handler_id;
      run.shard_id = event.shard_id;
      run.due = due;
      open = {planned_.runs.size(), 0};
      planned_.runs.push_back(std::move(run));
    }
    planned_.runs[*open.run].pending.add(event.offset);
    ++open.events;
    if (!waits) ++planned_.events;
  }

 private:
  /// The run that the next event may join.
  struct Open {
    std::optional<std::size_t> run;
    int events = 0;
  };

  bool must_begin(const Open& open, const event::Event& event, std::optional<event::Microseconds> due) const {
    if (!open.run || open.events >= run_events_) return true;
    const inbox::PlannedRun& run = planned_.runs[*open.run];
    return run.due != due || run.shard_id != event.shard_id ||
           event.offset - run.pending.ranges().front().first >= run_span;
  }

  HandlerRuns& planned_;
  int run_events_;
  event::Microseconds now_;
  Open fresh_;
  Open waiting_;  ///< for their `deliver_at`
};

/// Cuts a set in two: the first n offsets, and the rest.
std::pair<event::OffsetSet, event::OffsetSet> cut(const event::OffsetSet& set, std::int64_t n) {
  event::OffsetSet first, rest;
  for (const auto& range : set.ranges()) {
    const std::int64_t taken = std::min(n, range.end - range.first);
    first.add({range.first, range.first + taken});
    rest.add({range.first + taken, range.end});
    n -= taken;
  }
  return {std::move(first), std::move(rest)};
}

/// Routes to a handler that keeps order: an entry for each shard of its topics.
void route_in_order(const std::vector<event::Event>& events, const std::vector<std::int32_t>& shards,
                    const inbox::Subscription& handler, const std::function<std::string_view(std::int32_t)>& topic_of,
                    int run_events, std::vector<bool>& has_handler, event::Microseconds now,
                    std::vector<HandlerRuns>& out) {
  const bool is_whole = handler.order == inbox::Subscription::Order::of_handler;
  for (const std::int32_t shard : shards) {
    if (!inbox::matches(topic_of(shard), handler.topics)) continue;
    const auto first = std::partition_point(events.begin(), events.end(),
                                            [&](const event::Event& event) { return event.shard_id < shard; });
    HandlerRuns planned;
    planned.handler_id = handler.handler_id;
    planned.ordered_shard = shard;
    planned.sequence = is_whole ? inbox::whole_handler : shard;
    RunBuilder runs{planned, run_events, now};
    planned.first_event = static_cast<std::size_t>(first - events.begin());
    for (std::size_t i = planned.first_event; i < events.size() && events[i].shard_id == shard; ++i) {
      if (!handler.types.empty() && !inbox::matches(events[i].event_type, handler.types)) continue;
      runs.add(events[i], handler.collects);
      has_handler[i] = true;
    }
    for (inbox::PlannedRun& run : planned.runs) run.sequence = planned.sequence;
    out.push_back(std::move(planned));
  }
}

/// After a longer pause the wait starts again: the batch of the earlier calls was abandoned.
constexpr std::chrono::seconds max_call_gap{60};
constexpr std::chrono::milliseconds min_wait{30'000}, max_wait{300'000};

}  // namespace

std::chrono::milliseconds wait_for_others(std::chrono::milliseconds database_deadline) {
  return std::clamp(2 * database_deadline, min_wait, max_wait);
}

RollbackDetector::Finding RollbackDetector::judge(const Knows& knows, Clock::time_point now) {
  const auto previous = std::exchange(judged_at_, now);
  if (knows.ours && knows.others) {
    behind_since_.reset();
    return Finding::known;
  }
  // This process restores its own registrations, so the wait for them has no limit. The wait for others starts after
  // it.
  if (!knows.ours || !behind_since_ || now - previous > max_call_gap) behind_since_ = now;
  if (!knows.ours || now - *behind_since_ < wait_for_others_) return Finding::behind;
  behind_since_.reset();
  return Finding::not_restored;
}

bool KnownRouting::refresh() {
  const auto revision = registrations_.revision();
  if (routing_.version != 0 && revision_ == revision) return true;
  const auto newest = registrations_.newest();  // before the query, because other threads note newer registrations
  auto routing = inbox::read_routing(connection_);
  // In this order: a registration restored between the two queries changes the version, and the transaction finds that.
  const auto versions = inbox::read_handler_versions(connection_);
  const auto finding =
      rollback_detector_.judge({inbox::knows(versions, registrations_.versions()), inbox::knows(versions, newest)},
                               RollbackDetector::Clock::now());
  finding == RollbackDetector::Finding::not_restored ? registrations_.accept(versions) : registrations_.note(versions);
  log_change(finding);
  if (finding == RollbackDetector::Finding::behind) return false;
  routing_ = std::move(routing);
  revision_ = revision;
  if (!routing_.of_unknown_mode.empty()) {
    log_.warn("ingest.unknown_mode", {{"handlers", base::joined(routing_.of_unknown_mode)}});
  }
  return true;
}

void KnownRouting::log_change(RollbackDetector::Finding finding) {
  const bool was_waiting = std::exchange(is_waiting_, finding == RollbackDetector::Finding::behind);
  if (finding == RollbackDetector::Finding::not_restored) {
    log_.error("ingest.handlers_not_restored");
  } else if (is_waiting_ && !was_waiting) {
    log_.warn("ingest.handlers_missing");
  } else if (was_waiting && !is_waiting_) {
    log_.info("ingest.handlers_restored");
  }
}

std::vector<HandlerRuns> route(const std::vector<event::Event>& events, const std::vector<std::int32_t>& shards,
                               const inbox::Routing& routing,
                               const std::function<std::string_view(std::int32_t)>& topic_of, int run_events,
                               std::vector<bool>& has_handler, event::Microseconds now) {
  std::vector<HandlerRuns> out;
  has_handler.assign(events.size(), false);
  for (const inbox::Subscription& handler : routing.handlers) {
    if (handler.order != inbox::Subscription::Order::none) {
      route_in_order(events, shards, handler, topic_of, run_events, has_handler, now, out);
      continue;
    }
    HandlerRuns planned;
    planned.handler_id = handler.handler_id;
    RunBuilder runs{planned, run_events, now};
    std::int32_t shard_id = 0;
    bool takes_topic = false;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const event::Event& event = events[i];
      if (event.shard_id != shard_id) {
        shard_id = event.shard_id;
        takes_topic = inbox::matches(topic_of(shard_id), handler.topics);
      }
      if (!takes_topic || (!handler.types.empty() && !inbox::matches(event.event_type, handler.types))) continue;
      runs.add(event, true);
      has_handler[i] = true;
    }
    if (!planned.runs.empty()) out.push_back(std::move(planned));
  }
  return out;
}

void lease_reserved(HandlerRuns& planned, const HandOff::Reservation& reservation) {
  std::int64_t left = reservation.events;
  for (std::size_t i = 0; i < planned.runs.size() && left > 0; ++i) {
    if (planned.runs[i].due) continue;
    const std::int64_t count = planned.runs[i].pending.count();
    const std::int64_t most = reservation.run_events > 0 ? std::min(left, reservation.run_events) : left;
    if (count > most) {
      inbox::PlannedRun rest = planned.runs[i];
      std::tie(planned.runs[i].pending, rest.pending) = cut(planned.runs[i].pending, most);
      planned.runs.insert(planned.runs.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(rest));
    }
    planned.runs[i].lease = reservation.lease;
    planned.runs[i].sequence_fence = reservation.sequence_fence;
    left -= std::min(count, most);
  }
}

}  // namespace inboxd::consumer
