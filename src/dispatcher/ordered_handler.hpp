#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dispatcher/requests.hpp"
#include "dispatcher/sequences.hpp"

namespace inboxd::dispatcher {

/// A handler that keeps order, as the claimer sees it; InFlight implements it. Called by the claimer's thread.
class OrderedHandler {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~OrderedHandler() = default;

  // Ownership.

  struct SequencesToTake {
    std::vector<std::int32_t> wanted;
    bool orphans = false;  ///< also those without an owner
    std::string order{};   ///< as configured here
  };
  virtual SequencesToTake sequences_to_take(Clock::time_point now) = 0;
  virtual void sequences_taken(const std::vector<std::int32_t>& sequences, std::int64_t fence,
                               Clock::time_point lease_end) = 0;
  virtual std::vector<inbox::SequenceKey> owned_sequences() const = 0;
  /// `lease_end`: counted from when the database was asked.
  virtual void sequences_renewed(const std::vector<inbox::SequenceKey>& asked,
                                 const std::vector<inbox::RenewedSequence>& renewed, Clock::time_point lease_end) = 0;
  /// These are not owned any more, under these fences.
  virtual void sequences_lost(const std::vector<inbox::SequenceKey>& keys) = 0;
  /// Sequences that have left memory: to release in the database, after the leases of their deliveries.
  virtual std::vector<inbox::SequenceKey> take_drained() = 0;

  // Blocked keys.

  virtual std::optional<Sequences::LanesFrom> lanes_to_read() const = 0;
  virtual void lanes_read(std::int32_t sequence, const std::vector<inbox::Lane>& lanes, bool is_complete) = 0;
  virtual std::vector<inbox::Lane> lanes_to_check(std::size_t most) = 0;
  virtual void lanes_checked(const std::vector<inbox::Lane>& lanes) = 0;

  // Windows of a batch handler.

  /// The question whether a window closes, if it is time to ask.
  virtual std::optional<inbox::WindowPlan> window_to_turn(Clock::time_point now) const = 0;
  /// The end of a window, to log.
  struct WindowEnd {
    std::int64_t events = 0;
    Clock::duration duration{0};
  };
  virtual void window_turned(const inbox::WindowTurn& turn, Clock::time_point asked) = 0;
  virtual std::optional<WindowEnd> take_window_end() = 0;

  // One claim at a time, as ClaimingHandler's.

  virtual std::optional<ClaimInOrder> begin_claim_in_order(Clock::time_point now) = 0;
  /// Also after a failed claim, with nothing claimed.
  virtual void end_claim_in_order(inbox::ClaimedInOrder claimed, Clock::time_point asked) = 0;
};

}  // namespace inboxd::dispatcher
