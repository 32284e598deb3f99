#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "inbox/claim.hpp"

namespace inboxd::consumer {

/// Takes born-leased runs from ingest. The dispatcher implements it; ingesters call it, and no call blocks.
class HandOff {
 public:
  virtual ~HandOff() = default;

  /// A handler's reservation for events of a batch that is about to be stored.
  struct Reservation {
    std::int64_t events = 0;  ///< 0: store them due
    std::chrono::milliseconds lease{0};
    std::int64_t run_events = 0;  ///< the most events of a leased run; 0: no limit
    bool is_open = false;         ///< in a sequence: `end_in_order` must follow
    std::int64_t sequence_fence = 0;
    std::int32_t sequence = 0;
  };
  /// Reserves room for at most `events`, which take about `bytes`. Nothing is reserved for a handler that this process
  /// does not run, that is paused, or that has a backlog in the database: older events come first.
  virtual Reservation reserve(std::int32_t handler_id, std::int64_t events, std::size_t bytes) = 0;

  /// A shard's part of a batch, for a handler that keeps order.
  struct InOrder {
    std::int32_t shard_id = 0;
    std::int32_t epoch = 0;
    std::int64_t expected = 0;  ///< the position before the batch,
    std::int64_t next = 0;      ///< and after it
  };
  /// Reserves for the events of a shard and a handler that keeps order. Nothing is reserved unless this process owns
  /// the sequence and has everything before the batch in memory. Also for a batch without events for the handler.
  virtual Reservation reserve_in_order(std::int32_t /*handler_id*/, const InOrder& /*part*/, std::int64_t /*events*/,
                                       std::size_t /*bytes*/) {
    return {};
  }
  /// Whether memory alone is missing: this process has everything older in memory, and cannot reserve all of these
  /// events now. `part`: of a handler that keeps order.
  virtual bool lacks_room(std::int32_t /*handler_id*/, const InOrder* /*part*/, std::int64_t /*events*/,
                          std::size_t /*bytes*/) {
    return false;
  }
  /// Ends such a reservation, after its runs were handed over or released. `is_in_memory`: the batch is stored, and
  /// this process has all of the handler's runs.
  virtual void end_in_order(std::int32_t /*handler_id*/, const InOrder& /*part*/, std::int32_t /*sequence*/,
                            bool /*is_in_memory*/) {}

  /// A partition is read by this process from now on, or no longer.
  virtual void assigned(std::int32_t /*shard_id*/) {}
  virtual void revoked(std::int32_t /*shard_id*/) {}

  /// After COMMIT: hands over a run. `reserved` is its part of the reservation, at least its events. The part is used
  /// up even if the call throws, and the run is not taken then.
  virtual void hand_over(inbox::LeasedRun run, std::int64_t reserved) = 0;

  /// Releases a reservation that was not used: duplicates, a failed transaction.
  virtual void release(std::int32_t handler_id, std::int64_t events) = 0;

  /// Events of that handler were stored due: there is work to claim.
  virtual void notify_due(std::int32_t handler_id) = 0;
};

}  // namespace inboxd::consumer
