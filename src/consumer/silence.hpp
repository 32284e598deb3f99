#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace inboxd::consumer {

/// Whether anything comes of a partition that is to be read on. The client library tells at least where the partition
/// ends, so silence means that it has lost what it was asked for: it drops the end of a pause without a word where an
/// op of its own overtakes it. Then the position is looked up and sought once more. What takes long for another reason
/// (a slow broker, a long stretch without records) is disturbed by that, so it is waited for twice as long each time.
/// One thread; pure.
class Silence final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds patience{10}, longest_patience{3600};

  /// The position was looked up, and is sought.
  void looked_up(Clock::time_point now) {
    since_ = now;
    is_heard_ = false;
    behind_.reset();
  }

  /// Of a record, an end, or an error.
  void heard() { is_heard_ = true; }

  /// `taken`: how many messages were taken so far from the queue that it comes through, `waiting`: that are in it.
  /// True: look the position up again.
  bool is_too_long(Clock::time_point now, std::uint64_t taken, std::uint64_t waiting) {
    if (is_heard_) {
      patience_ = patience;
      return false;
    }
    if (now - since_ < patience_) return false;
    if (!behind_) behind_ = taken + waiting;  // it may be among those
    if (taken < *behind_ && waiting > 0) return false;
    patience_ = std::min(patience_ * 2, longest_patience);
    return true;
  }

 private:
  Clock::time_point since_{};
  bool is_heard_ = true;  ///< nothing is to come before a position was looked up
  std::chrono::seconds patience_ = patience;
  std::optional<std::uint64_t> behind_;
};

}  // namespace inboxd::consumer
