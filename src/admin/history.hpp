#pragma once
#include <optional>
#include <vector>

#include "admin/operation.hpp"
#include "inbox/operations_dead.hpp"
#include "inbox/operations_events.hpp"
#include "inbox/operations_history.hpp"

namespace inboxd::admin {

/// Everything that is known of one event.
struct EventFile {
  inbox::EventPlace place;
  std::optional<inbox::StoredEvent> event;     ///< as stored, or as a dead letter kept it
  bool is_purged = false;                      ///< not in the inbox any more
  std::vector<inbox::DeadLetter> dead;
  inbox::EventHistory history;
};

/// The state of each handler that was ever owed the event: [{handler, state, attempts, …}]. What is outstanding
/// counts before what is dead, that before the last outcome.
Document handler_states(const EventFile& file);

/// What happened, in the order of time: [{at, what, handler, detail}].
Document timeline_of(const EventFile& file);

Document failures_of(const EventFile& file);

}  // namespace inboxd::admin
