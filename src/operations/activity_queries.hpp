#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "event/record.hpp"
#include "inbox/connection.hpp"
#include "inbox/handler_activity.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::operations {

/// The reports of all live instances about a handler, added up.
struct ActivityState {
  inbox::HandlerActivity sum;  ///< without its ages
  std::optional<event::Microseconds> failing_since;
  std::optional<event::Microseconds> away_since;
  std::string last_message;  ///< of the last failure; empty without the right to read it

  /// Adds the report of an instance.
  void add(const inbox::HandlerActivity& instance, event::Microseconds said_at);
};
/// By handler id.
using Activities = std::map<std::int32_t, ActivityState>;

/// nullptr: no live instance runs the handler.
const ActivityState* activity_of(const Activities& activities, std::int32_t handler_id);

Activities read_activities(inbox::Connection& connection);
/// Empty if the text is not as json_of() writes it, as that of another release may be.
std::vector<inbox::HandlerActivity> parse_activity(const std::string& json);

}  // namespace inboxd::operations
