#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"

namespace inboxd::operations {

/// Of `inboxd test`: what became of a record.
struct RecordState {
  std::optional<std::string> quarantined;  ///< the reason; nullopt: it is an event
  std::string event_id;
  std::string source_id;  ///< the producer's own id, or the event's
  std::string event_type;
  std::optional<std::string> key;
  std::string detail;  ///< of quarantine
};
/// nullopt: nothing was stored.
std::optional<RecordState> read_record(inbox::Connection& connection, const std::string& topic, std::int32_t partition,
                                       std::int64_t offset);

/// An event that an application enqueues: the arguments of inbox.enqueue.
struct EnqueuedEvent {
  std::string topic;
  std::optional<std::string> type, payload, id, key;
  std::string headers;  ///< a JSON object
  std::optional<event::Microseconds> occurred_at, deliver_at;
};
/// Throws DatabaseError, also for an event that the function refuses.
void enqueue(inbox::Connection& connection, const EnqueuedEvent& event);

/// A handler's state of an event, as in view `deliveries`.
struct EventState {
  std::string handler, state;
  std::int32_t attempts = 0;
  std::string error;        ///< `class: message` of its first failure
  bool has_failed = false;  ///< that failure is recorded
};
std::vector<EventState> read_event_states(inbox::Connection& connection, const std::string& event_id);

/// A message for Kafka.
struct OutgoingMessage {
  std::string topic;
  std::optional<std::string> key, payload;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};
/// The messages in the outbox.
std::vector<OutgoingMessage> read_outbox(inbox::Connection& connection);

/// Rows as texts; nullopt: null.
using TextRows = std::vector<std::vector<std::optional<std::string>>>;
/// Runs SQL of a user, one or several statements, in a session of its own that has none of the daemon's settings; the
/// rows are of the last statement. The problem has the server's sentence.
base::Result<TextRows> run_sql(const std::string& url, const std::string& sql, std::chrono::milliseconds timeout);

}  // namespace inboxd::operations
