#pragma once
#include <vector>

#include "queue/run_queue.hpp"

namespace inboxd::dispatcher {

/// Takes events that have expired by `now` (the database's clock) out of slices that a worker has taken. They are
/// reported instead of called. Pure.
std::vector<settler::Report> take_out_expired(std::vector<RunSlice>& slices, event::Microseconds now);

}  // namespace inboxd::dispatcher
