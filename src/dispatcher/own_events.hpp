#pragma once
#include <cstdint>

#include "inbox/claim.hpp"

namespace inboxd::dispatcher {

/// What the run's events take in memory.
std::int64_t bytes_of(const inbox::LeasedRun& run);

/// Gives a run that is a small part of its batch a copy of its events, so that one slow event does not keep a whole
/// batch in memory that nobody counts.
void own_events(inbox::LeasedRun& run, std::int64_t bytes);

}  // namespace inboxd::dispatcher
