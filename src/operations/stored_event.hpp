#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"
#include "operations/operation.hpp"

/// Values that the operations' statements (*_queries.hpp) share. The functions take a Connection and throw database
/// errors, which `inbox::describe` reads. Functions that only read need no right but `select`.
namespace inboxd::operations {

/// A count that stops at a limit: `at_least` if there are more.
struct Count {
  std::int64_t number = 0;
  bool at_least = false;
  bool operator==(const Count&) const = default;
};

/// [since, until); nullopt: open.
struct Period {
  std::optional<event::Microseconds> since;
  std::optional<event::Microseconds> until;
};

/// A change for the audit: its actor, and the arguments as typed.
struct Deed {
  std::string actor;
  std::string asked;
};

/// Payload and headers (packed, event/headers.hpp) of an event; null: none.
struct Content {
  std::optional<std::string> payload;
  std::optional<std::string> headers;
};

/// An event in the inbox, or a dead letter's copy.
struct StoredEvent {
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  base::Uuid event_id;
  std::optional<event::Microseconds> occurred_at;
  std::optional<event::Microseconds> kafka_timestamp;
  event::Microseconds received_at = 0;
  Document document;  ///< as columns::event_summary; with payload and headers if the whole event was requested
  Content content;    ///< only then
};
/// Without payload and headers.
Document summary_of(const StoredEvent& event);

struct Worker {
  std::string host;
  std::int32_t process_id = 0;
};

/// Records a change that leaves no other trace in the database.
void write_audit(inbox::Connection& connection, const std::string& actor, const std::string& operation,
                 const std::string& target);

}  // namespace inboxd::operations
