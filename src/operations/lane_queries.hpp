#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::operations {

/// A key of a sequential handler whose events wait.
struct KeyLane {
  std::string handler;
  std::optional<std::string> key;  ///< shortened; nullopt: its events have none, or it is unknown
  std::string state;               ///< blocked, parked
  std::int64_t waiting = 0;        ///< events behind the first one
  std::optional<base::Uuid> head_event_id;
  std::int32_t attempts = 0;
  std::optional<event::Microseconds> due_at;
  std::optional<std::string> last_error;
};

struct LaneFilter {
  std::optional<std::string> handler;  ///< name or alias
  std::optional<std::string> key;      ///< its bytes
};

/// Those with most events first.
std::vector<KeyLane> list_lanes(inbox::Connection& connection, const LaneFilter& filter, std::int64_t limit);

/// A dead letter that parks its key.
struct ParkedKey {
  std::int64_t dead_letter_id = 0;
  std::string handler;
};
std::vector<ParkedKey> pick_parked(inbox::Connection& connection, const LaneFilter& filter,
                                   const std::optional<std::vector<std::int64_t>>& dead_letter_ids, std::int64_t limit);

}  // namespace inboxd::operations
