#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event/record.hpp"
#include "inbox/connection.hpp"

namespace inboxd::operations {

/// A handler and the last request to back-fill it.
struct BackfillState {
  std::int32_t handler_id = 0;
  bool is_retired = false;
  std::vector<std::string> configured_by;  ///< `host (process 42)`
  bool has_ended = false;                  ///< all of it is delivered, and claimed
  bool is_cancelled = false;
  std::int64_t offsets = 0;       ///< in all
  std::int64_t left = 0;          ///< offsets that it has yet to pass
  std::int64_t events = 0;        ///< made pending so far
  std::int64_t dead_letters = 0;  ///< of these; deleted
};
/// nullopt: no handler has that name now. A daemon not seen within `seen_within` does not count.
std::optional<BackfillState> find_backfill(inbox::Connection& connection, const std::string& handler,
                                           std::chrono::seconds seen_within);

struct BackfillRequest {
  std::int32_t handler_id = 0;
  std::optional<event::Microseconds> from;
  std::optional<event::Microseconds> to;  ///< exclusive
  std::vector<std::string> topics;        ///< exact or prefix*; empty = all of its subscription
  std::vector<std::string> types;
  bool again = false;                ///< also events with an outcome
  std::optional<std::int64_t> rate;  ///< events a second
};
/// The offsets that it would pass at most; 0: no event is stored there.
std::int64_t count_offsets(inbox::Connection& connection, const BackfillRequest& request);
/// Returns its offsets; nullopt: the handler is retired, or another request runs. Recorded in the audit with `asked`.
std::optional<std::int64_t> request_backfill(inbox::Connection& connection, const BackfillRequest& request,
                                             const std::string& actor, const std::string& asked);
/// False: none runs. Recorded in the audit.
bool cancel_backfill(inbox::Connection& connection, std::int32_t handler_id, const std::string& actor);

}  // namespace inboxd::operations
