#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"
#include "inbox/operations.hpp"

namespace inboxd::inbox {

/// The beginnings of the days (UTC) that events are kept for, newest first; days to come are left out.
std::vector<event::Microseconds> event_days(Connection& connection);

struct EventsFilter {
  std::vector<std::int32_t> shards;
  std::vector<std::string> types;              ///< exact or prefix*; empty = all
  Period received;
};

/// The newest events, found by walking each shard back from its end.
struct NewestEvents {
  std::vector<StoredEvent> events;             ///< newest first, without payload and headers
  std::int64_t looked_at = 0;
  std::optional<event::Microseconds> back_to;  ///< the oldest that was looked at
  bool complete = true;                        ///< false: `search` ended it, there may be more
};

/// At most `limit` events. Where types are asked for, no more than about `search` events are looked at, shared among
/// the shards.
NewestEvents newest_events(Connection& connection, const EventsFilter& filter, std::int64_t limit,
                           std::int64_t search);

/// Where an event is.
struct EventPlace {
  base::Uuid event_id;
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  /// When it was received, from and until (not any more then); null where nobody noted it.
  std::optional<event::Microseconds> received_from, received_until;
};

/// What the ledger knows of these ids.
std::vector<EventPlace> find_in_ledger(Connection& connection, const std::vector<base::Uuid>& event_ids);

/// The sources that the newest events name: what event ids may have been made of.
std::vector<std::string> sources_in_use(Connection& connection);

/// Reads all events of one day (`day` is its beginning): for ids that the ledger does not know (any more) and for
/// producers' texts. Slow; at most ten are returned.
std::vector<EventPlace> search_day(Connection& connection, const std::vector<base::Uuid>& event_ids,
                                   const std::string& source_id, event::Microseconds day);

/// An event, whole; nullopt where it was purged.
std::optional<StoredEvent> read_event(Connection& connection, const EventPlace& place);

}  // namespace inboxd::inbox
