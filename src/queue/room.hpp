#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "queue/capacity.hpp"
#include "queue/run_queue.hpp"

namespace inboxd::dispatcher {

/// The events that a handler has in memory, has reserved or is claiming, and how many more it may have. No lock.
class Room final {
 public:
  Room(std::shared_ptr<Budgets> budgets, int concurrency, std::int64_t events_per_call)
      : budgets_{std::move(budgets)}, pace_{concurrency, events_per_call} {}

  Pace& pace() { return pace_; }
  const Pace& pace() const { return pace_; }
  Reservations& reservations() { return reservations_; }
  const Reservations& reservations() const { return reservations_; }
  int handlers() const { return budgets_->handlers; }
  std::int64_t limit() const { return std::max(budgets_->events, pace_.minimum()); }

  std::int64_t held(const RunQueue& queue) const { return queue.events() + reservations_.events() + claiming_; }
  /// The events that it may take. `deferred` events wait for others of their key and do not count as work at hand:
  /// other keys flow past a slow key.
  std::int64_t free(const RunQueue& queue, std::int64_t target, std::size_t deferred) const {
    const std::int64_t all = held(queue);
    return free_room({target, std::min(pace_.minimum(), target), all - static_cast<std::int64_t>(deferred),
                      budgets_->events - all, budgets_->bytes.left_for(held_bytes(queue)), bytes_per_event_});
  }
  /// The room is worth a claim: with a backlog, claims bring whole runs.
  bool is_worth_a_claim(const RunQueue& queue, std::int64_t free) const {
    return free >= 1 && (queue.queued() == 0 || free * worth_a_claim >= held(queue) + free);
  }
  /// Events of a known size that ingest may hand over.
  std::int64_t events_of_size(const RunQueue& queue, std::int64_t bytes_each) const {
    return std::max<std::int64_t>(budgets_->bytes.left_for(held_bytes(queue)) / bytes_each, held(queue) == 0 ? 1 : 0);
  }
  /// Half of the memory is in use.
  bool is_filling(const RunQueue& queue) const {
    return budgets_->events < 2 * held(queue) ||
           budgets_->bytes.left_for(held_bytes(queue)) < held_bytes(queue);
  }
  /// The bytes that a claim may read.
  std::size_t bytes_to_claim(const RunQueue& queue) const {
    const std::int64_t bytes = queue.bytes() + reservations_.bytes();
    return static_cast<std::size_t>(std::max<std::int64_t>(budgets_->bytes.left_for(bytes), 1));
  }

  /// The events of the claim in progress; 0: none.
  void claim(std::int64_t events) { claiming_ = events; }
  bool is_claiming() const { return claiming_ > 0; }
  /// A larger run raises the estimate of an event's size at once, smaller runs lower it: too little room is safer.
  void note_size(std::int64_t events, std::int64_t bytes) {
    const std::int64_t each = std::max<std::int64_t>(bytes / std::max<std::int64_t>(events, 1), 1);
    bytes_per_event_ = std::max(each, bytes_per_event_ + (each - bytes_per_event_) / shrinking_weight);
  }
  /// Reports the memory of the events held to the budget. After every change of them.
  void count(const RunQueue& queue) {
    const std::int64_t bytes = budgets_->bytes.common_part(held_bytes(queue));
    if (bytes != common_bytes_) budgets_->bytes.use(bytes - std::exchange(common_bytes_, bytes));
  }

 private:
  /// The assumed size of an event before any was seen.
  static constexpr std::int64_t guessed_bytes_per_event = 2048;
  static constexpr std::int64_t shrinking_weight = 16;
  static constexpr std::int64_t worth_a_claim = 4;  ///< at least this part of the room

  std::int64_t held_bytes(const RunQueue& queue) const {
    return queue.bytes() + reservations_.bytes() + claiming_ * bytes_per_event_;
  }

  const std::shared_ptr<Budgets> budgets_;
  Reservations reservations_;
  Pace pace_;
  std::int64_t bytes_per_event_ = guessed_bytes_per_event;
  std::int64_t claiming_ = 0;
  std::int64_t common_bytes_ = 0;  ///< its use of the budget's common half, as reported
};

}  // namespace inboxd::dispatcher
