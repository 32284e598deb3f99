#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::operations {

struct HandlerPending {
  std::int32_t handler_id = 0;
  bool is_retired = false;
  std::int64_t events = 0;                 ///< as deliveries
  std::int64_t backfill = 0;               ///< offsets that its back-fill has yet to pass
  std::vector<std::string> configured_by;  ///< `host (process 42)`
};
/// nullopt: no handler has that name now. A daemon not seen within `seen_within` does not count.
std::optional<HandlerPending> find_pending(inbox::Connection& connection, const std::string& handler,
                                           std::chrono::seconds seen_within);

/// The present name of the handler that has this name or had it; nullopt: there is none.
std::optional<std::string> present_handler_name(inbox::Connection& connection, const std::string& name);

/// Pauses a handler for all instances; false: it was paused already. Recorded in the audit.
bool pause_handler(inbox::Connection& connection, const std::string& handler, const std::string& reason,
                   const std::string& actor);
/// Resumes it: `resumed`, `trying` (a fuse had paused it) or `running` (it was not paused).
std::string resume_handler(inbox::Connection& connection, const std::string& handler, const std::string& actor);

/// A batch handler whose window is to close now.
struct WindowToClose {
  std::string mode;
  std::int64_t events = 0;  ///< that wait for it
  bool is_running = false;  ///< the last window has not ended
  std::vector<std::string> configured_by;
};
/// nullopt: unknown or retired. `asks`: false: changes nothing. Another mode than batch changes nothing either.
std::optional<WindowToClose> close_window(inbox::Connection& connection, const std::string& handler,
                                          const std::string& actor, bool asks, std::chrono::seconds seen_within);

/// Stops delivering to the handler from the next batch on, even if a configuration names it; recorded in the audit.
/// Waits for running ingest transactions, 10 s at most.
void retire_handler(inbox::Connection& connection, const HandlerPending& pending, const std::string& actor);

/// Delivers events to a retired handler again from the next batch on, none of before; recorded in the audit. False: the
/// handler is not retired. Waits like retire_handler, and for locks on the handler's deliveries.
bool restore_handler(inbox::Connection& connection, std::int32_t handler_id, const std::string& actor);

/// Deletes a batch of a retired handler's pending deliveries, without locked rows. Deletes nothing if the handler is
/// not retired.
struct DroppedDeliveries {
  std::int64_t rows = 0;
  std::int64_t events = 0;
};
DroppedDeliveries drop_pending(inbox::Connection& connection, std::int32_t handler_id, int rows);

}  // namespace inboxd::operations
