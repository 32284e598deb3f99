#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "queue/fifo_feed.hpp"
#include "queue/key_order.hpp"

namespace inboxd::dispatcher {

/// Events in the order of their keys (mode sequential): many keys at once, the events of each key in order.
class KeyFeed final : public FifoFeed {
 public:
  /// Events that may run now: first events whose key became free, then the queue in its order. In a transaction, all
  /// events of a key go to a single worker, and a run is not cut. Without a transaction, events of a key may only share
  /// a call, if they are of the same run: the next call with the key comes after the outcome is recorded.
  std::vector<RunSlice> take(HandlerState& state, Clock::time_point now);
  std::vector<settler::Report> take_behind(RunQueue& queue);
  bool any_behind() const { return keys_.any_behind(); }
  bool has_more(const RunQueue& queue) const { return queue.any_slice() || keys_.any_ready() || keys_.any_behind(); }
  void added(HandlerState& state, const settler::Run& run);
  void put_back(RunQueue& queue, const std::vector<RunSlice>& slices, Clock::time_point now);
  void settled(HandlerState& /*state*/, const settler::Run& run, std::int64_t events, Clock::time_point now) {
    note_settled(run, events, now);
  }
  void settled_in_order(const settler::Run& run, const settler::KeyEffects& effects, bool was_taken) {
    keys_.settled(run, effects, was_taken);
  }
  void forget(std::int32_t sequence);
  /// No other instance could take the events, and the claims bound their number. But slow keys wait in their lanes.
  bool review(HandlerState& state, Clock::time_point now);
  std::size_t deferred() const { return keys_.deferred(); }
  std::size_t blocked_keys() const { return keys_.blocked_keys(); }

  std::int64_t run_events(const HandlerState& state, std::int64_t events) const;
  std::optional<std::int32_t> sequence_of(const Settings& settings, std::int32_t shard) const {
    return settings.order->sequence_of(shard);
  }

  bool only_looks(const HandlerState& state, Clock::time_point now) const {
    return !state.sequences.any_to_read(now) && !state.sequences.lanes_to_read() && !keys_.must_check();
  }
  bool stored(HandlerState& state, Clock::time_point now);
  /// Whether blocked keys are free.
  std::optional<Request> check(HandlerState& state, Clock::time_point now);
  std::optional<Request> claim(HandlerState& state, Free free, Clock::time_point now);
  Clock::time_point next_due(HandlerState& state, Free free, Clock::time_point now) const;
  using FifoFeed::answered;
  void answered(HandlerState& state, const CheckLanes& question, const CheckLanes::Result& result, const Visit& visit);
  void block(const inbox::Lane& lane) { keys_.block(lane); }
  std::optional<WindowEnd> read(HandlerState& state, const std::vector<inbox::SequenceRead>& sequences, bool is_cut,
                                bool has_claimed, Clock::time_point now);

 private:
  struct Busy {
    std::int64_t events = 0;       ///< with workers or the settler
    Clock::time_point progress{};  ///< the last time that some were taken or settled
  };
  bool may_take_from(const settler::Run& run, const HandlerState& state, Clock::time_point now) const;
  void note_settled(const settler::Run& run, std::int64_t events, Clock::time_point now);

  KeyOrder keys_;
  KeyOrder::Call last_call_ = 0;
  std::map<std::int32_t, Busy> busy_;  ///< by sequence
  Clock::time_point next_check_{};     ///< of blocked keys
  Clock::time_point next_slow_look_{};
};

}  // namespace inboxd::dispatcher
