#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "config/settings.hpp"
#include "queue/admission.hpp"
#include "queue/due_claims.hpp"
#include "queue/lease_keeper.hpp"
#include "queue/low_water.hpp"
#include "queue/room.hpp"
#include "queue/run_queue.hpp"
#include "queue/sequences.hpp"
#include "queue/settings.hpp"

namespace inboxd::dispatcher {

/// The threads to wake after a change.
struct Wakes {
  bool claimer = false;  ///< the handler may have a question
  int workers = 0;       ///< the most workers that may find events
  bool all_workers = false;
};

/// Room for further events.
struct Free {
  std::int64_t events = 0;
  bool is_worth_a_claim = false;
};

/// The values of a handler that its queue, feed and questions work on. No lock, no clock.
struct HandlerState {
  using Clock = std::chrono::steady_clock;

  HandlerState(std::int32_t id, const config::Handler& handler, std::chrono::milliseconds interval,
               std::shared_ptr<Budgets> budgets)
      : handler_id{id},
        poll{interval},
        settings{handler, {}},
        room{std::move(budgets), handler.concurrency, handler.events_per_call},
        due{interval} {
    sequences.use(settings.scope);
  }

  bool takes() const { return admission.takes(); }
  Leases leases() { return {handler_id, settings.lease, queue, sequences}; }
  /// The events that a worker takes at once.
  std::int64_t batch_size(Clock::time_point now) const {
    const Pace& pace = room.pace();
    const std::int64_t queued = queue.queued();
    return std::min(settings.needs.sql ? pace.batch_size_in_transactions(queued) : pace.batch_size(queued),
                    admission.max_events(now));
  }
  /// Reserves room for a claim of `events` events.
  inbox::ClaimRequest begin_claim(std::int64_t events) {
    room.claim(events);
    room.count(queue);
    inbox::ClaimRequest out;
    out.handler_id = handler_id;
    out.lease = settings.lease;
    out.events = events;
    out.bytes = room.bytes_to_claim(queue);
    out.payloads = settings.reads_payloads();
    out.not_before = readings.mark().not_before();
    return out;
  }
  void end_claim(const inbox::Claimed& claimed) {
    room.claim(0);
    keeper.skip(claimed.empty);
    keeper.release(claimed.excess);
  }

  const std::int32_t handler_id;
  const std::chrono::milliseconds poll;
  Settings settings;
  Admission admission;
  RunQueue queue;
  Room room;
  Sequences sequences;
  DueClaims due;
  LowWaterReadings readings;
  LeaseKeeper keeper;
  std::int64_t unkeyed = 0;  ///< events without an order key, where the file does not say how these run
  bool wants_room = false;   ///< the claimer sleeps, and would claim if there were room
  Wakes wakes;
};

}  // namespace inboxd::dispatcher
