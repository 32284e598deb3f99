#pragma once
#include <vector>

#include "dispatcher/batch_window.hpp"
#include "dispatcher/fifo_feed.hpp"

namespace inboxd::dispatcher {

/// The events of a batch handler's closed window (mode batch): one call after the other, as long as possible.
class WindowFeed final : public FifoFeed {
 public:
  WindowFeed(const config::Batch& batch, std::chrono::milliseconds poll)
      : window_{batch, poll}, groups_by_key_{batch.group_by == config::GroupBy::key} {}

  /// The events of one call, of one key with group_by: key. A call waits for more events of the window until it is
  /// full, unless all are in memory, or memory is full.
  std::vector<RunSlice> take(const TakeContext& context);
  /// No other instance could take the events, and the claims bound their number.
  bool may_release() const { return false; }
  bool has_more(const RunQueue& queue) const { return queue.any_slice(); }
  void forget(std::int32_t /*sequence*/) { window_.forget(); }

  BatchWindow& window() { return window_; }

 private:
  BatchWindow window_;
  bool groups_by_key_;
};

}  // namespace inboxd::dispatcher
