#pragma once
#include <cassert>
#include <chrono>

namespace inboxd::consumer {

/// The life of an assigned partition: each event changes its state and returns the action that the poll thread takes.
/// The README draws the states. Pure; not thread-safe.
class PartitionLife final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State {
    looking_up,  ///< an ingester looks its position up, or will do so at `look_up_at`
    reading,
    halted,     ///< the reason is in table shard; the position is looked up at intervals
    returning,  ///< read after a halt, but nothing has come yet: the client library reports a lasting refusal only once
  };
  enum class Action {
    none,
    pause,
    look_up,  ///< pause, then ask the ingester
    rejoin,   ///< the client library no longer reads the partition: only a new assignment restarts it
  };
  static constexpr std::chrono::milliseconds failure_interval{500}, halt_interval{5'000};
  /// In a row. The library refuses to seek a partition for a moment after its assignment, and for ever once it has
  /// ended reading it.
  static constexpr int max_refused_seeks = 3;

  State state() const { return state_; }
  bool is_read() const { return state_ == State::reading || state_ == State::returning; }
  bool is_halted() const { return is_halted(state_); }
  static bool is_halted(State state) { return state == State::halted || state == State::returning; }
  /// Far away while an answer is awaited or the partition is read.
  Clock::time_point look_up_at() const { return look_up_at_; }

  Action time_passed(Clock::time_point now) { return look_up_at_ <= now ? doubted() : Action::none; }
  /// Its position is doubted.
  Action doubted() { return stop(is_halted(), Clock::time_point::max(), Action::look_up); }
  Action look_up_failed(Clock::time_point now) { return stop(is_halted(), now + failure_interval, Action::pause); }
  Action halted(Clock::time_point now) { return stop(true, now + halt_interval, Action::pause); }
  /// Something was read since the halt.
  void halt_cleared() {
    if (is_halted()) change(is_read() ? State::reading : State::looking_up);
  }
  /// Its position was sought. `was_halted`: the reason is still in table shard.
  void sought(bool was_halted) {
    change(was_halted ? State::returning : State::reading);
    look_up_at_ = Clock::time_point::max();
    refused_seeks_ = 0;
  }
  /// `is_ended`: the library does not read the partition, and may have ended that for good.
  Action seek_refused(bool is_ended, Clock::time_point now) {
    look_up_at_ = now + failure_interval;
    refused_seeks_ = is_ended ? refused_seeks_ + 1 : 0;
    return refused_seeks_ >= (is_halted() ? 1 : max_refused_seeks) ? Action::rejoin : Action::none;
  }

 private:
  void change(State to) {
    assert(state_ != State::returning || to != State::looking_up);
    assert(state_ != State::reading || to != State::returning);
    state_ = to;
  }
  Action stop(bool is_halted, Clock::time_point look_up_at, Action action) {
    change(is_halted ? State::halted : State::looking_up);
    look_up_at_ = look_up_at;
    return action;
  }

  State state_ = State::looking_up;
  Clock::time_point look_up_at_ = Clock::time_point::max();
  int refused_seeks_ = 0;
};

/// As in `status`: a returning partition is still `halted`.
inline const char* name_of(PartitionLife::State state) {
  if (PartitionLife::is_halted(state)) return "halted";
  return state == PartitionLife::State::reading ? "reading" : "looking_up";
}

}  // namespace inboxd::consumer
