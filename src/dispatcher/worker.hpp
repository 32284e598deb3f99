#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "config/settings.hpp"
#include "dispatcher/bell.hpp"
#include "dispatcher/chunk.hpp"
#include "dispatcher/in_hand.hpp"
#include "plugin/plugin.hpp"
#include "settler/settler.hpp"

namespace inboxd::dispatcher {

/// How calls are watched.
struct WatchLimits {
  std::chrono::milliseconds grace{1'000};      ///< a call past its deadline is told so, and given up after this
  std::chrono::milliseconds patience{20};      ///< who is busy for longer keeps nothing but the events of its call
};

/// What the workers of one crew share. Outlives the crew where a call never returns.
struct CrewShare {
  std::shared_ptr<InHand> in_hand;
  std::shared_ptr<plugin::Instance> instance;
  std::shared_ptr<Bell> ended;                 ///< rung when a worker has ended
  std::size_t events_per_call = 1;
  std::chrono::milliseconds deadline{0};
  WatchLimits limits;
  std::atomic<bool> stop{false};               ///< no new calls
  std::atomic<bool> cancelled{false};          ///< shutdown: what the handler does not come to is not charged
  std::atomic<int> abandoned{0};               ///< threads in calls that were given up
};

/// One thread that calls a handler. It takes about a millisecond of work at once and calls event by event (or
/// `events_per_call` of them); what became of them goes to the settler when all of it is through. The overseer looks
/// after it (`review`): takes away from a slow call what it does not need, cancels it at its deadline, gives it up
/// after the grace. A worker that was given up touches nothing but its own when its call returns at last.
///
/// A handler that settles inside its own transaction will differ in one step only: what `end_call` leaves to be
/// reported, it records itself through settler::Gathering.
class Worker final {
 public:
  using Clock = std::chrono::steady_clock;

  Worker(std::shared_ptr<CrewShare> share, settler::Settler& settler) : share_{std::move(share)}, settler_{settler} {}

  /// The thread's body: until `stop`, or until given up.
  void run();
  bool has_ended() const { return ended_; }

  /// What a review found; the overseer acts on it without the worker's lock.
  struct Review {
    std::vector<settler::Report> reports;
    std::vector<Piece> rest;                   ///< for other workers
    Pace::Running running;
    bool abandoned = false;                    ///< the call was given up: the thread is lost
  };
  Review review(Clock::time_point now);
  /// Tells a running call that nobody waits for it.
  void cancel();
  /// Gives up a running call without charging it.
  Review abandon();

 private:
  bool next_call();
  void call();
  void report_and_return();

  const std::shared_ptr<CrewShare> share_;
  settler::Settler& settler_;                  ///< not touched once abandoned
  plugin::Cancellation cancellation_;
  std::atomic<bool> ended_{false};

  std::mutex mutex_;                           // guards the following; the thread and the overseer
  Chunk chunk_;
  Clock::time_point taken_;                    ///< of the chunk's first call
  Clock::time_point started_;                  ///< of the running call
  bool calling_ = false;
  bool abandoned_ = false;

  // The thread's own.
  std::vector<plugin::Delivered> delivered_;
  std::vector<plugin::Verdict> verdicts_;
  Clock::time_point call_began_;
  InHand::Work work_;
  base::Histogram::Tally calls_;
};

}  // namespace inboxd::dispatcher
