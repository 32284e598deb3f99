#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "dispatcher/fifo_feed.hpp"
#include "dispatcher/key_order.hpp"

namespace inboxd::dispatcher {

/// Events in the order of their keys (mode sequential): many keys at once, the events of each one after the other.
class KeyFeed final {
 public:
  using Clock = std::chrono::steady_clock;

  /// Events that may run now: first those whose key became free, then the queue in its order. In a transaction, all
  /// events of a key go to one worker, and a run is not cut. Without one, events of a key may only share a call, if
  /// they are of one run: the next call with the key comes after the outcome is recorded.
  std::vector<RunSlice> take(const TakeContext& context);
  std::vector<settler::Report> take_behind(RunQueue& queue);
  /// No other instance could take the events, and the claims bound their number.
  bool may_release() const { return false; }
  bool any_behind() const { return keys_.any_behind(); }
  bool has_more(const RunQueue& queue) const {
    return queue.any_slice() || keys_.any_ready() || keys_.any_behind();
  }
  void put_back(RunQueue& queue, const std::vector<RunSlice>& slices);
  void settled(const settler::Run& run, std::int64_t events);
  void settled_in_order(const settler::Run& run, const settler::KeyEffects& effects, bool was_taken) {
    keys_.settled(run, effects, was_taken);
  }
  void forget(std::int32_t sequence);
  void review(std::size_t max_deferred, Clock::time_point now);

  void block(const inbox::Lane& lane) { keys_.block(lane); }
  std::vector<inbox::Lane> to_check(Clock::time_point now);
  bool must_check() const { return keys_.must_check(); }
  void checked(const std::vector<inbox::Lane>& lanes) { keys_.checked(lanes); }
  std::size_t blocked_keys() const { return keys_.blocked_keys(); }
  std::size_t deferred() const { return keys_.deferred(); }

 private:
  struct Busy {
    std::int64_t events = 0;       ///< with workers or the settler
    Clock::time_point progress{};  ///< the last time that some were taken or settled
  };
  bool may_take_from(const settler::Run& run, const TakeContext& context) const;

  KeyOrder keys_;
  KeyOrder::Call last_call_ = 0;
  std::map<std::int32_t, Busy> busy_;  ///< by sequence
  Clock::time_point next_check_{};     ///< of blocked keys
  Clock::time_point next_slow_look_{};
};

}  // namespace inboxd::dispatcher
