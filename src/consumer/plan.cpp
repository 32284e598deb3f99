#include "consumer/plan.hpp"

namespace inboxd::consumer {
namespace {

/// Cuts the events of one handler into runs as they come.
class RunBuilder {
 public:
  RunBuilder(Owed& owed, int run_events) : owed_{owed}, run_events_{run_events} {}

  void add(const event::Event& event) {
    if (must_begin(event)) {
      inbox::PlannedRun run;
      run.handler_id = owed_.handler_id;
      run.shard_id = event.shard_id;
      owed_.runs.push_back(std::move(run));
      events_in_run_ = 0;
    }
    owed_.runs.back().pending.add(event.offset);
    ++events_in_run_;
    ++owed_.events;
  }

 private:
  bool must_begin(const event::Event& event) const {
    if (owed_.runs.empty() || events_in_run_ >= run_events_) return true;
    const inbox::PlannedRun& run = owed_.runs.back();
    return run.shard_id != event.shard_id || event.offset - run.pending.ranges().front().first >= run_span;
  }

  Owed& owed_;
  int run_events_;
  int events_in_run_ = 0;
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

}  // namespace

std::vector<Owed> route(const std::vector<event::Event>& events, const inbox::Routing& routing,
                        const std::function<std::string_view(std::int32_t)>& topic_of, int run_events) {
  std::vector<Owed> out;
  for (const inbox::Subscription& handler : routing.handlers) {
    Owed owed;
    owed.handler_id = handler.handler_id;
    RunBuilder runs{owed, run_events};
    std::int32_t shard_id = 0;
    bool takes_topic = false;
    for (const event::Event& event : events) {
      if (event.shard_id != shard_id) {
        shard_id = event.shard_id;
        takes_topic = inbox::matches(topic_of(shard_id), handler.topics);
      }
      if (takes_topic && (handler.types.empty() || inbox::matches(event.event_type, handler.types))) runs.add(event);
    }
    if (owed.events > 0) out.push_back(std::move(owed));
  }
  return out;
}

void lease_as_room_allows(Owed& owed, const HandOff::Room& room) {
  std::int64_t left = room.events;
  for (std::size_t i = 0; i < owed.runs.size() && left > 0; ++i) {
    const std::int64_t count = owed.runs[i].pending.count();
    const std::int64_t most = room.run_events > 0 ? std::min(left, room.run_events) : left;
    if (count > most) {
      inbox::PlannedRun rest = owed.runs[i];
      std::tie(owed.runs[i].pending, rest.pending) = cut(owed.runs[i].pending, most);
      owed.runs.insert(owed.runs.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(rest));
    }
    owed.runs[i].lease = room.lease;
    left -= std::min(count, most);
  }
}

}  // namespace inboxd::consumer
