#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "config/schedule.hpp"
#include "inbox/sequence.hpp"

namespace inboxd::dispatcher {

/// The end of a window, to log.
struct WindowEnd {
  std::int64_t events = 0;
  std::chrono::steady_clock::duration duration{0};
};

/// The windows of a batch handler, as the instance that owns it sees them: when the database is asked whether a window
/// closes, and whether the events of a closed window are all in memory.
///
///   unknown --turned--> open, or running --ended--> open
///                       open --closed--> running
///      ^---- any: not owned any more
///
/// Bookkeeping without lock or clock.
class BatchWindow final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { unknown, open, running };

  BatchWindow(const config::Batch& batch, std::chrono::milliseconds poll);

  /// When the database is to be asked next; never while a window runs.
  Clock::time_point next_turn() const;
  /// Without the fence.
  inbox::WindowPlan plan() const;
  /// The answer to a question that was asked at `asked`.
  void turned(const inbox::WindowTurn& turn, Clock::time_point asked);
  /// The sequence is not owned any more.
  void forget();

  bool is_running() const { return state_ == State::running; }
  /// The result of a claim.
  void read(inbox::SequenceRead::State state);
  /// All events of the window that have no outcome are in memory: a call need not wait for more.
  bool is_read() const { return is_read_; }

  /// Of the running window.
  std::int64_t events() const { return events_; }
  Clock::time_point began() const { return began_; }

 private:
  void change(State to);

  const config::Batch batch_;
  const config::Schedule schedule_;
  const std::chrono::milliseconds poll_;
  State state_ = State::unknown;
  Clock::time_point next_turn_{};
  std::optional<event::Microseconds> latest_;
  std::optional<event::Microseconds> next_;
  bool is_read_ = false;
  std::int64_t events_ = 0;
  Clock::time_point began_{};
};

}  // namespace inboxd::dispatcher
