#pragma once
#include <atomic>
#include <cstdint>

#include "base/wake_signal.hpp"
#include "event/database_clock.hpp"

namespace inboxd::dispatcher {

/// Signals from the handlers to the claimer. Any thread.
struct ClaimerSignals {
  base::WakeSignal wake;                  ///< a handler has a question
  std::atomic<std::int64_t> suspects{0};  ///< suspect runs in flight, of all handlers (inbox::is_suspect)
  event::DatabaseClock clock;
};

}  // namespace inboxd::dispatcher
