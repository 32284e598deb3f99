#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::operations {

inline constexpr event::Microseconds day_us = 86'400'000'000;

/// The starts of the days (UTC) with events, newest first.
std::vector<event::Microseconds> event_days(inbox::Connection& connection);

/// The place of an event in a list: newest first, then by shard, then the highest offset first.
struct EventRank {
  event::Microseconds received_at = 0;
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
};

struct EventsFilter {
  std::vector<std::int32_t> shards;
  std::vector<std::string> types;  ///< exact or prefix*; empty = all
  std::optional<std::string> key;
  std::optional<std::string> handler;  ///< name or alias: events that the handler got or will get
  std::vector<std::string> states;     ///< for the handler, or for any; empty = all
  Period received;
  std::optional<EventRank> after;  ///< only events that come later in the list

  bool asks_state() const { return handler || !states.empty(); }
  /// Every event of the shards and the period matches.
  bool takes_all() const { return types.empty() && !key && !asks_state(); }
};

/// The newest events, found by reading each shard backwards.
struct NewestEvents {
  std::vector<StoredEvent> events;  ///< newest first, without payload and headers
  std::int64_t looked_at = 0;
  std::optional<event::Microseconds> back_to;  ///< the oldest event looked at
  /// Stopped by `search`: a search with this `until` continues, and repeats the events of that time.
  std::optional<event::Microseconds> next_until;
};

/// At most `limit` events. A filter by type, key or state looks at about `search` events at most, shared among the
/// shards. With index event_key, a filter by key looks at events of the key alone.
NewestEvents newest_events(inbox::Connection& connection, const EventsFilter& filter, std::int64_t limit,
                           std::int64_t search);

struct EventPlace {
  base::Uuid event_id;
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  /// When it was received: from, until (exclusive); null: unknown.
  std::optional<event::Microseconds> received_from, received_until;
};

std::vector<EventPlace> find_in_ledger(inbox::Connection& connection, const std::vector<base::Uuid>& event_ids);

/// The sources of the newest events, to derive event ids from.
std::vector<std::string> sources_in_use(inbox::Connection& connection);

/// Known names by kind: `handler`, `topic`, `type` and `error`. Types are the types of the newest events and of dead
/// letters.
std::map<std::string, std::vector<std::string>> names_in_use(inbox::Connection& connection);

/// Reads all events of a day (`day` is its start), for ids that the ledger lacks and for producers' ids. Slow; returns
/// at most ten.
std::vector<EventPlace> search_day(inbox::Connection& connection, const std::vector<base::Uuid>& event_ids,
                                   const std::string& source_id, event::Microseconds day);

/// The whole event; nullopt: purged.
std::optional<StoredEvent> read_event(inbox::Connection& connection, const EventPlace& place);

/// A pending delivery that contains the event.
struct OpenDelivery {
  std::string handler;
  std::int32_t attempts = 0;
  std::int32_t claims = 0;
  bool is_leased = false;
  bool is_due = false;
  std::optional<event::Microseconds> due_at;  ///< leased: the end of the lease; nullopt: in its turn, in a sequence
  std::optional<std::string> waits_for;       ///< deliver_at, key (an earlier event of its key), window
  std::optional<Worker> owner;
  std::optional<std::string> last_error;
  std::int32_t events = 0;  ///< of the run, including this event
  std::optional<std::string> paused_reason;
  std::int64_t delivery_id = 0;
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

/// Another fact about an event: `dead replay` by an operator, `also seen` on a topic.
struct Note {
  std::string what;
  std::string who;
  event::Microseconds at = 0;
};

/// A message that a handler published for an event: not sent yet, or read again from Kafka by this inbox.
struct PublishedMessage {
  base::Uuid message_id;
  std::string state;  ///< `to send`, `waits` (for a refused message), `in Kafka`
  std::string topic;
  std::optional<std::int32_t> partition;
  std::optional<std::int64_t> offset;
  event::Microseconds at = 0;  ///< published; in Kafka: read again
  std::optional<std::string> error;
};
/// Of handlers `names`, by the ids that plugins give to their first messages of an event. Ids that a statement chose
/// are not found. Reads all of the outbox.
std::vector<PublishedMessage> read_messages(inbox::Connection& connection, const base::Uuid& event_id,
                                            const std::vector<std::string>& names);

/// A handler that subscribed to an event when it was stored.
struct ExpectedHandler {
  std::string handler;
  bool awaits_backfill = false;  ///< a back-fill has yet to deliver the event to it
};
/// Empty if records of the event's time may have been deleted. Dead letters are kept for that long; nullopt: for ever.
std::vector<ExpectedHandler> read_expected(inbox::Connection& connection, const StoredEvent& event,
                                           std::optional<std::chrono::milliseconds> dead_letters_kept);

/// All records of an event, each list in the order of time.
struct EventHistory {
  std::vector<OpenDelivery> deliveries;
  std::vector<RecordedOutcome> outcomes;
  std::vector<RecordedFailure> failures;
  std::vector<Note> notes;
};

/// An event: its place, when it was received (nullopt: unknown), and the age limit of its records (nullopt: none).
struct HistoryRequest {
  base::Uuid event_id;
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  std::optional<event::Microseconds> received_at;
  std::optional<event::Microseconds> since;
};
EventHistory read_history(inbox::Connection& connection, const HistoryRequest& request);

/// Pending deliveries with the event, of every handler.
std::vector<OpenDelivery> read_deliveries(inbox::Connection& connection, const HistoryRequest& request);

enum class EventChange {
  done,
  gone,       ///< the event has left the delivery meanwhile
  leased,     ///< it is being handled
  otherwise,  ///< it does not wait for a retry
  purged,     ///< there is nothing to keep as a dead letter
};
/// Makes a waiting retry of an event due now or, with a reason, makes the event a dead letter.
EventChange change_event(inbox::Connection& connection, const EventPlace& place, std::int64_t delivery_id,
                         const std::optional<std::string>& reason, const Deed& deed);

/// Deliveries that wait for a retry, and their events.
struct WaitingRetries {
  std::int64_t deliveries = 0;
  std::int64_t events = 0;
};
/// Retries now at most `limit` deliveries of a handler that wait for their next attempt, of these classes of last error
/// (patterns; none: all). `only_count` changes nothing.
WaitingRetries retry_waiting(inbox::Connection& connection, const std::string& handler,
                             const std::vector<std::string>& error_classes, std::int64_t limit, bool only_count);

}  // namespace inboxd::operations
