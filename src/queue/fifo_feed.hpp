#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "queue/batch_window.hpp"
#include "queue/handler_state.hpp"
#include "queue/requests.hpp"

namespace inboxd::dispatcher {

/// Events that run in no order (mode single): the events stored first come first. The other feeds differ from it where
/// they hide a function.
class FifoFeed {
 public:
  using Clock = std::chrono::steady_clock;

  // Events.

  /// The events of a worker's next call or calls. Empty: none may run now.
  std::vector<RunSlice> take(HandlerState& state, Clock::time_point now) {
    return state.queue.take(state.batch_size(now), now, state.settings.needs.sql);
  }
  /// Events that leave memory without a call, because their key is blocked.
  std::vector<settler::Report> take_behind(RunQueue& /*queue*/) { return {}; }
  bool any_behind() const { return false; }
  /// After `take`: another worker may take events, too.
  bool has_more(const RunQueue& queue) const { return queue.queued() > 0; }
  /// A run is about to be queued.
  void added(HandlerState& /*state*/, const settler::Run& /*run*/) {}
  /// Events that were taken and not called.
  void put_back(RunQueue& queue, std::vector<RunSlice> slices, Clock::time_point /*now*/) {
    queue.put_back(std::move(slices));
  }
  void settled(HandlerState& /*state*/, const settler::Run& /*run*/, std::int64_t /*events*/,
               Clock::time_point /*now*/) {}
  void settled_in_order(const settler::Run& /*run*/, const settler::KeyEffects& /*effects*/, bool /*was_taken*/) {}
  /// A sequence whose events leave memory.
  void forget(std::int32_t /*sequence*/) {}
  /// From time to time. True: it has released events far beyond a second of work, for other instances.
  bool review(HandlerState& state, Clock::time_point now);
  /// Events in memory that wait for others of their key.
  std::size_t deferred() const { return 0; }
  std::size_t blocked_keys() const { return 0; }

  // Room.

  /// The events to have in flight: of a handler with a rate, few, so that other instances have some, too.
  std::int64_t target(const HandlerState& state) const;
  /// The most events of a run, for workers that settle in transactions: each gets runs of its own. 0: no limit.
  std::int64_t run_events(const HandlerState& state, std::int64_t events) const;
  /// The sequence in which ingest may lease events of the shard; nullopt: none.
  std::optional<std::int32_t> sequence_of(const Settings& /*settings*/, std::int32_t /*shard*/) const {
    return std::nullopt;
  }

  // Questions.

  /// Events may be due that no sequence has.
  bool claims_due() const { return true; }
  /// A claim could find nothing but deliveries that are due.
  bool only_looks(const HandlerState& /*state*/, Clock::time_point /*now*/) const { return true; }
  /// The sequences are read at that time.
  void read_at(Clock::time_point when) { next_read_ = when; }
  /// Ingest stored events as due. False: they run later.
  bool stored(HandlerState& /*state*/, Clock::time_point /*now*/) { return true; }
  /// The question that precedes claims.
  std::optional<Request> check(HandlerState& /*state*/, Clock::time_point /*now*/) { return std::nullopt; }
  std::optional<Request> claim(HandlerState& /*state*/, Free /*free*/, Clock::time_point /*now*/) {
    return std::nullopt;
  }
  /// When to ask next; there is room.
  Clock::time_point next_due(HandlerState& state, Free free, Clock::time_point now) const;
  template <class Question>
  void answered(HandlerState& /*state*/, const Question& /*question*/, const typename Question::Result& /*result*/,
                const Visit& /*visit*/) {}
  void block(const inbox::Lane& /*lane*/) {}
  /// After a claim, whose runs are in the queue. `is_cut`: rows were found that are not in memory.
  std::optional<WindowEnd> read(HandlerState& /*state*/, const std::vector<inbox::SequenceRead>& /*sequences*/,
                                bool /*is_cut*/, bool /*has_claimed*/, Clock::time_point /*now*/) {
    return std::nullopt;
  }

 protected:
  Clock::time_point next_read_{};  ///< of the sequences
};

}  // namespace inboxd::dispatcher
