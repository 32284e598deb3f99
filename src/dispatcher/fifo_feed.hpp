#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dispatcher/capacity.hpp"
#include "dispatcher/run_queue.hpp"
#include "inbox/sequence.hpp"

namespace inboxd::dispatcher {

/// What a worker's events are taken from, and how many it may have.
struct TakeContext {
  RunQueue& queue;
  const Pace& pace;
  std::chrono::steady_clock::time_point now;
  std::int64_t max_events = 0;  ///< by the handler's limits
  std::int64_t events_per_call = 1;
  bool in_transactions = false;  ///< calls share a transaction
  bool is_full = false;          ///< there is no room for further events
  bool is_alone = false;         ///< a suspect is in memory: nothing else is claimed

  std::int64_t batch_size() const {
    const std::int64_t queued = queue.queued();
    return std::min(in_transactions ? pace.batch_size_in_transactions(queued) : pace.batch_size(queued), max_events);
  }
};

/// Events that run in no order (mode single): those stored first come first.
class FifoFeed {
 public:
  using Clock = std::chrono::steady_clock;

  std::vector<RunSlice> take(const TakeContext& context) {
    return context.queue.take(context.batch_size(), context.now, context.in_transactions);
  }
  bool may_release() const { return true; }
  bool has_more(const RunQueue& queue) const { return queue.queued() > 0; }
  void put_back(RunQueue& queue, std::vector<RunSlice> slices) { queue.put_back(std::move(slices)); }

  // No key blocks another event.
  std::vector<settler::Report> take_behind(RunQueue& /*queue*/) { return {}; }
  bool any_behind() const { return false; }
  void settled(const settler::Run& /*run*/, std::int64_t /*events*/) {}
  void settled_in_order(const settler::Run& /*run*/, const settler::KeyEffects& /*effects*/, bool /*was_taken*/) {}
  void forget(std::int32_t /*sequence*/) {}
  void review(std::size_t /*max_deferred*/, Clock::time_point /*now*/) {}
  void block(const inbox::Lane& /*lane*/) {}
  std::vector<inbox::Lane> to_check(Clock::time_point /*now*/) { return {}; }
  bool must_check() const { return false; }
  void checked(const std::vector<inbox::Lane>& /*lanes*/) {}
  std::size_t blocked_keys() const { return 0; }
  std::size_t deferred() const { return 0; }
};

}  // namespace inboxd::dispatcher
