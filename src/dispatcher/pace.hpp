#pragma once
#include <chrono>
#include <cstdint>

namespace inboxd::dispatcher {

/// How fast a handler works, from its recent calls: how much it should have in hand, and how much one of its workers
/// takes at once. Pure; recent means about a quarter of a second of work, so that it follows a handler that turns slow.
class Pace {
 public:
  using Duration = std::chrono::steady_clock::duration;

  struct Limits {
    std::int64_t start_events = 64;  ///< in hand while nothing is known
    std::int64_t growth = 16;        ///< in hand at most so many times the recent events that it was seen to do
    double half_life_seconds = 0.25;
    double in_hand_seconds = 1.0;
    double turn_seconds = 0.001;        ///< of work that a worker takes from the queue at once
    double transaction_seconds = 0.025; ///< the same where its calls share transactions: COMMIT is dear
    double alone_seconds = 0.000'25;    ///< less work than this is not worth a second worker's waking
  };

  /// Calls that have not returned yet: their age says how slow a handler is before they do.
  struct Running {
    std::int64_t events = 0;
    Duration elapsed{0};  ///< summed over the calls
  };

  Pace(int concurrency, std::int64_t events_per_call, Limits limits);
  Pace(int concurrency, std::int64_t events_per_call) : Pace{concurrency, events_per_call, Limits{}} {}

  /// One worker was busy so long with so many events.
  void worked(std::int64_t events, Duration busy);
  void note_running(Running running) { running_ = running; }
  /// After a reload: the workers are others, what is known of the handler stays.
  void reshape(int concurrency, std::int64_t events_per_call);

  std::int64_t workers() const { return concurrency_; }
  std::int64_t minimum() const { return concurrency_ * events_per_call_; }
  /// Events to have in hand: about a second of work, at least the minimum.
  std::int64_t target() const;
  /// Events that a worker takes of `queued` ones: whole calls, about a millisecond of work, an even part of a short
  /// queue.
  std::int64_t turn_of(std::int64_t queued) const { return turn_of(queued, limits_.turn_seconds); }
  /// The same where calls share transactions: about 25 milliseconds of work.
  std::int64_t turn_in_transactions(std::int64_t queued) const { return turn_of(queued, limits_.transaction_seconds); }
  /// Events a second with all workers busy; 0 while nothing is known.
  double per_second() const;

 private:
  double seconds_per_event() const;
  std::int64_t turn_of(std::int64_t queued, double seconds) const;
  std::int64_t worth(double seconds) const;
  std::int64_t whole_calls(std::int64_t events) const;

  std::int64_t concurrency_;
  std::int64_t events_per_call_;
  Limits limits_;
  double events_ = 0;  ///< both fade
  double seconds_ = 0;
  Running running_;
};

}  // namespace inboxd::dispatcher
