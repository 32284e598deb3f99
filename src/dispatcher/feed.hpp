#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "dispatcher/fifo_feed.hpp"
#include "dispatcher/key_feed.hpp"
#include "dispatcher/window_feed.hpp"

namespace inboxd::dispatcher {

/// The order in which a handler's workers get its events: one of the modes. A reload that changes the mode makes a new
/// feed; its sequences drain before. No lock; InFlight guards it.
class Feed final {
 public:
  using Clock = std::chrono::steady_clock;

  /// Makes a new feed of that kind.
  template <class Kind, class... Arguments>
  void become(Arguments&&... arguments) {
    kind_.emplace<Kind>(std::forward<Arguments>(arguments)...);
  }

  /// The events of a worker's next call or calls, at most `max_events`. Empty: none may run now.
  std::vector<RunSlice> take(const TakeContext& context) {
    return std::visit([&](auto& feed) { return feed.take(context); }, kind_);
  }
  /// Events that leave memory without a call, because their key is blocked.
  std::vector<settler::Report> take_behind(RunQueue& queue) {
    return std::visit([&](auto& feed) { return feed.take_behind(queue); }, kind_);
  }
  bool any_behind() const {
    return std::visit([](const auto& feed) { return feed.any_behind(); }, kind_);
  }
  /// After `take`: another worker may take events, too.
  bool has_more(const RunQueue& queue) const {
    return std::visit([&](const auto& feed) { return feed.has_more(queue); }, kind_);
  }
  /// Events that were taken and not called.
  void put_back(RunQueue& queue, std::vector<RunSlice> slices) {
    std::visit([&](auto& feed) { feed.put_back(queue, std::move(slices)); }, kind_);
  }
  void settled(const settler::Run& run, std::int64_t events) {
    std::visit([&](auto& feed) { feed.settled(run, events); }, kind_);
  }
  void settled_in_order(const settler::Run& run, const settler::KeyEffects& effects, bool was_taken) {
    std::visit([&](auto& feed) { feed.settled_in_order(run, effects, was_taken); }, kind_);
  }
  /// A sequence whose events leave memory.
  void forget(std::int32_t sequence) {
    std::visit([&](auto& feed) { feed.forget(sequence); }, kind_);
  }
  /// Events far beyond a second of work are better with other instances.
  bool may_release() const {
    return std::visit([](const auto& feed) { return feed.may_release(); }, kind_);
  }
  /// From time to time. `max_deferred`: a slow key with more events than that waits in its lane.
  void review(std::size_t max_deferred, Clock::time_point now) {
    std::visit([&](auto& feed) { feed.review(max_deferred, now); }, kind_);
  }

  // Blocked keys: see KeyOrder.
  void block(const inbox::Lane& lane) {
    std::visit([&](auto& feed) { feed.block(lane); }, kind_);
  }
  std::vector<inbox::Lane> to_check(Clock::time_point now) {
    return std::visit([&](auto& feed) { return feed.to_check(now); }, kind_);
  }
  bool must_check() const {
    return std::visit([](const auto& feed) { return feed.must_check(); }, kind_);
  }
  void checked(const std::vector<inbox::Lane>& lanes) {
    std::visit([&](auto& feed) { feed.checked(lanes); }, kind_);
  }
  std::size_t blocked_keys() const {
    return std::visit([](const auto& feed) { return feed.blocked_keys(); }, kind_);
  }
  /// Events in memory that wait for others of their key.
  std::size_t deferred() const {
    return std::visit([](const auto& feed) { return feed.deferred(); }, kind_);
  }

  /// Null unless the mode is batch.
  BatchWindow* window() {
    auto* const feed = std::get_if<WindowFeed>(&kind_);
    return feed == nullptr ? nullptr : &feed->window();
  }
  bool has_window() const { return std::holds_alternative<WindowFeed>(kind_); }

 private:
  std::variant<FifoFeed, KeyFeed, WindowFeed> kind_;
};

}  // namespace inboxd::dispatcher
