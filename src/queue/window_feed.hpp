#pragma once
#include <optional>
#include <vector>

#include "queue/batch_window.hpp"
#include "queue/fifo_feed.hpp"

namespace inboxd::dispatcher {

/// The events of a batch handler's closed window (mode batch): call after call, each as long as possible.
class WindowFeed final : public FifoFeed {
 public:
  WindowFeed(const config::Batch& batch, std::chrono::milliseconds poll)
      : window_{batch, poll}, groups_by_key_{batch.group_by == config::GroupBy::key} {}

  /// The events of a call; with group_by: key, of a single key. A call waits for more events of the window until it is
  /// full, unless all are in memory, or memory is full.
  std::vector<RunSlice> take(HandlerState& state, Clock::time_point now);
  bool has_more(const RunQueue& queue) const { return queue.any_slice(); }
  void settled(HandlerState& state, const settler::Run& run, std::int64_t events, Clock::time_point now);
  void forget(std::int32_t /*sequence*/) { window_.forget(); }
  /// No other instance could take the events, and the claims bound their number.
  bool review(HandlerState& state, Clock::time_point now);

  /// The calls of a window are not cut.
  std::int64_t target(const HandlerState& state) const { return state.room.pace().target(); }

  bool claims_due() const { return false; }
  bool only_looks(const HandlerState& /*state*/, Clock::time_point /*now*/) const { return false; }
  /// Its events wait until it closes.
  bool stored(HandlerState& /*state*/, Clock::time_point /*now*/) { return false; }
  /// Whether the window closes.
  std::optional<Request> check(HandlerState& state, Clock::time_point now);
  std::optional<Request> claim(HandlerState& state, Free free, Clock::time_point now);
  Clock::time_point next_due(HandlerState& state, Free free, Clock::time_point now) const;
  using FifoFeed::answered;
  void answered(HandlerState& state, const TurnWindow& question, const inbox::WindowTurn& turn, const Visit& visit);
  std::optional<WindowEnd> read(HandlerState& state, const std::vector<inbox::SequenceRead>& sequences, bool is_cut,
                                bool has_claimed, Clock::time_point now);

 private:
  BatchWindow window_;
  bool groups_by_key_;
};

}  // namespace inboxd::dispatcher
