#pragma once
#include <chrono>
#include <cstdint>
#include <utility>
#include <variant>

#include "queue/fifo_feed.hpp"
#include "queue/key_feed.hpp"
#include "queue/window_feed.hpp"

namespace inboxd::dispatcher {

/// The order in which a handler's workers get its events: by its mode. A reload that changes the mode makes a new feed;
/// its sequences drain before. No lock.
class Feed final {
 public:
  Feed(const Settings& settings, std::chrono::milliseconds poll) { renew(settings, poll); }

  /// Forgets all events, and takes the mode of these settings.
  void renew(const Settings& settings, std::chrono::milliseconds poll) {
    if (!settings.order) {
      kind_.emplace<FifoFeed>();
    } else if (settings.order->batch) {
      kind_.emplace<WindowFeed>(*settings.order->batch, poll);
    } else {
      kind_.emplace<KeyFeed>();
    }
  }
  /// Applies a function to the mode's feed, whose functions FifoFeed describes.
  template <class Use>
  decltype(auto) with(Use&& use) {
    return std::visit(std::forward<Use>(use), kind_);
  }
  template <class Use>
  decltype(auto) with(Use&& use) const {
    return std::visit(std::forward<Use>(use), kind_);
  }
  Free free(const HandlerState& state) const {
    return with([&](const auto& feed) {
      const std::int64_t events = state.room.free(state.queue, feed.target(state), feed.deferred());
      return Free{events, state.room.is_worth_a_claim(state.queue, events)};
    });
  }

 private:
  std::variant<FifoFeed, KeyFeed, WindowFeed> kind_;
};

}  // namespace inboxd::dispatcher
