#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "inbox/claim.hpp"

namespace inboxd::consumer {

/// Where ingest hands over what was born leased: the dispatcher. Called by the ingest threads, at once.
class HandOff {
 public:
  virtual ~HandOff() = default;

  /// Room in hand that a handler has for events of a batch that is about to be stored.
  struct Room {
    std::int64_t events = 0;                   ///< reserved; 0: let them be born due
    std::chrono::milliseconds lease{0};
    std::int64_t run_events = 0;               ///< leased runs are cut into ones of at most so many; 0: they are not
  };
  /// Reserves room for at most that many events, which weigh about `bytes`; never blocks. A handler that this process
  /// does not run, that is paused, or that has a backlog in the database (older events come first) has none.
  virtual Room reserve(std::int32_t handler_id, std::int64_t events, std::size_t bytes) = 0;

  /// After COMMIT: a run of reserved events. `reserved` is what of the reservation it uses up (at least its events),
  /// also where it throws and takes nothing in hand.
  virtual void hand_over(inbox::LeasedRun run, std::int64_t reserved) = 0;

  /// Gives back a reservation that came to nothing (duplicates, a failed transaction).
  virtual void release(std::int32_t handler_id, std::int64_t events) = 0;

  /// Events of that handler were born due: there is something to claim.
  virtual void born_due(std::int32_t handler_id) = 0;
};

}  // namespace inboxd::consumer
