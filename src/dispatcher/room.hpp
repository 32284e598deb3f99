#pragma once
#include <atomic>
#include <cstdint>

namespace inboxd::dispatcher {

/// A limit that all handlers share: half of it is dealt out evenly, so that none can starve another, the other half is
/// for whoever needs more. Counts events, or bytes. Any thread.
class Budget final {
 public:
  explicit Budget(std::int64_t limit) : limit_{limit} { deal(1); }

  /// How many handlers share it from now on.
  void deal(int handlers);
  std::int64_t limit() const { return limit_; }
  std::int64_t share() const { return share_.load(); }

  /// What one that holds `held` uses of the common half; to be told by `use` whenever it changes.
  std::int64_t common_part(std::int64_t held) const;
  void use(std::int64_t change) { used_ += change; }

  /// What one that holds `held` may still take.
  std::int64_t left_for(std::int64_t held) const;

 private:
  const std::int64_t limit_;
  std::atomic<std::int64_t> share_{0};
  std::atomic<std::int64_t> common_{0};
  std::atomic<std::int64_t> used_{0};
};

/// What decides how many more events a handler may get in hand.
struct RoomState {
  std::int64_t target = 0;          ///< about a second of its work
  std::int64_t minimum = 0;         ///< concurrency * events_per_call: it may always have these, if the bytes allow
  std::int64_t held = 0;            ///< events in hand, reserved or being claimed
  std::int64_t events_left = 0;     ///< of the budgets
  std::int64_t bytes_left = 0;
  std::int64_t bytes_per_event = 1;
};

/// At least one where nothing is held, whatever the limits: no event is too large to be handled.
std::int64_t free_room(const RoomState& state);

}  // namespace inboxd::dispatcher
