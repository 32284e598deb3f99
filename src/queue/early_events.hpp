#pragma once
#include <vector>

#include "queue/run_queue.hpp"

namespace inboxd::dispatcher {

/// Events that a worker has taken, but may not call.
struct EarlyEvents {
  /// Events before their `deliver_at`, and in a sequence the later events of their keys: to report instead.
  std::vector<settler::Report> reports;
  /// Events whose key has an earlier event that is called, or that is reported with another run, in order. That event
  /// must be recorded before they wait in the key's lane.
  std::vector<RunSlice> put_back;
};

/// Takes events whose `deliver_at` is after `now` out of slices that a worker has taken. `now`: not ahead of the
/// database's clock. Pure.
EarlyEvents take_out_early(std::vector<RunSlice>& slices, event::Microseconds now);

}  // namespace inboxd::dispatcher
