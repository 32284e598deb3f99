#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "consumer/hand_off.hpp"
#include "event/event.hpp"
#include "inbox/handlers.hpp"
#include "inbox/ingest.hpp"

namespace inboxd::consumer {

/// No run spans more offsets than this, whatever lies between its events: views find outcomes by it (sql/README.md).
/// `ingest.run_events` goes as far.
inline constexpr std::int64_t run_span = 10'000;

/// What a handler is owed of one batch: runs, and how many events they hold.
struct Owed {
  std::int32_t handler_id = 0;
  std::vector<inbox::PlannedRun> runs;         ///< all still due, lease 0
  std::int64_t events = 0;
};

/// Routes the events of a batch (by shard, then offset): to every handler in the database that subscribes to their
/// topic and type, in runs of at most `run_events` events and `run_span` offsets. `topic_of` names a shard's topic.
std::vector<Owed> route(const std::vector<event::Event>& events, const inbox::Routing& routing,
                        const std::function<std::string_view(std::int32_t)>& topic_of, int run_events);

/// Leases the first runs of what is owed to this process, as many events as there is room for; the last one that fits
/// only in part is split, and so are those larger than the room's `run_events`.
void lease_as_room_allows(Owed& owed, const HandOff::Room& room);

}  // namespace inboxd::consumer
