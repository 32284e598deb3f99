#pragma once
#include <optional>
#include <vector>

#include "operations/dead_queries.hpp"
#include "operations/event_queries.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

struct EventFile {
  EventPlace place;
  std::optional<StoredEvent> event;  ///< as stored, or a dead letter's copy
  bool is_purged = false;            ///< no longer in the inbox
  std::vector<ExpectedHandler> expected{};
  std::vector<DeadLetter> dead;
  EventHistory history;
  std::vector<Edit> edits;
  std::vector<PublishedMessage> messages{};  ///< of handlers; only for the timeline
};

/// `due`, `leased`, `retrying`, `waiting`.
std::string state_text(const OpenDelivery& delivery);

/// The state for each handler that ever got the event: [{handler, state, attempts, …}]. A pending delivery counts
/// before a dead letter, a dead letter before the last outcome. Without them an expected handler is `missing`, or
/// `backfill`.
Document handler_states(const EventFile& file);

/// The event's history in the order of time: [{at, what, handler, detail}].
Document timeline_of(const EventFile& file);

Document failures_of(const EventFile& file);

}  // namespace inboxd::operations
