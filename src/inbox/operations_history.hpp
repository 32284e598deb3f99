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

/// A delivery that an event is part of: a handler still owes it something.
struct OpenDelivery {
  std::string handler;
  std::int32_t attempts = 0;                   ///< failures so far
  std::int32_t claims = 0;
  bool is_leased = false;
  bool is_due = false;
  event::Microseconds due_at = 0;              ///< leased: the end of the lease
  std::optional<Worker> owner;
  std::optional<std::string> last_error;
  std::int32_t events = 0;                     ///< of the run, this one included
  std::optional<std::string> paused_reason;    ///< of the handler
};

struct RecordedOutcome {
  std::string handler;
  std::string outcome;
  std::int32_t attempts = 0;
  event::Microseconds finished_at = 0;
  std::optional<Worker> owner;
};

struct RecordedFailure {
  std::string handler;
  std::int32_t attempt = 0;
  event::Microseconds occurred_at = 0;
  std::string error_class;
  std::string message;
  std::chrono::microseconds duration{0};
};

/// Something else that happened to an event: `dead replay` by somebody, `also seen` on a topic.
struct Note {
  std::string what;
  std::string who;
  event::Microseconds at = 0;
};

/// All that is recorded of one event, each list in the order of time.
struct EventHistory {
  std::vector<OpenDelivery> deliveries;
  std::vector<RecordedOutcome> outcomes;
  std::vector<RecordedFailure> failures;
  std::vector<Note> notes;
};

/// Which event: its place, when it was received (nullopt: not known), and since when anything can have happened to it
/// (the same): what is older is not read.
struct HistoryRequest {
  base::Uuid event_id;
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  std::optional<event::Microseconds> received_at;
  std::optional<event::Microseconds> since;
};
EventHistory read_history(Connection& connection, const HistoryRequest& request);

}  // namespace inboxd::inbox
