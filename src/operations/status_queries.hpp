#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::operations {

/// In place of the reason of a pause, which may quote an error.
inline constexpr const char* hidden_reason = "inboxd handlers list shows why, to role reader or with a token";

struct HandlerState {
  std::int32_t handler_id = 0;
  std::string name;
  std::string mode;
  std::vector<std::string> topics;  ///< exact or prefix*; empty = all
  std::vector<std::string> types;
  std::string started_from;
  std::optional<std::string> paused_reason;  ///< hidden_reason until add_pause_reasons
  bool has_paused_itself = false;  ///< by its fuse, or at an error
  std::optional<event::Microseconds> retired_at;
  Count due;  ///< any instance may claim them now
  Count leased;
  Count retrying;  ///< failed, due later
  Count waiting;   ///< for another event of their key, for their window, or for their deliver_at
  Count dead;
  std::optional<std::chrono::microseconds> oldest_due_age;
  std::optional<std::chrono::microseconds> oldest_retrying_age;  ///< since receipt, of events that have failed
  std::int64_t backfill = 0;                                     ///< offsets that its back-fill has yet to pass
  std::int64_t parked = 0;            ///< by a dead letter of their key; not in `dead`
  std::int64_t held_by_gone = 0;      ///< of `leased`: by daemons that have gone
  std::optional<event::Microseconds> held_until;  ///< by then other daemons may take them
  std::optional<event::Microseconds> next_deliver_at;  ///< the earliest that events wait for
  Document window;  ///< of mode batch, as columns::window; otherwise null

  /// All of these without dead letters.
  Count pending() const;
};
std::vector<HandlerState> read_handlers(inbox::Connection& connection);

struct QuarantineGroup {
  std::string topic;
  std::string reason;
  std::int64_t records = 0;
};
struct QuarantineState {
  std::vector<QuarantineGroup> groups;  ///< the largest first
  Count total;
};
QuarantineState count_quarantined(inbox::Connection& connection);

/// Messages on their way to Kafka.
struct OutboxState {
  Count backlog;                                        ///< to send
  std::optional<std::chrono::microseconds> oldest_age;  ///< of these
  Count stopped;                                        ///< keys and topics
  Count waiting;                                        ///< messages in them
};
OutboxState read_outbox_state(inbox::Connection& connection);

/// A live daemon has been seen within this time.
inline constexpr std::chrono::seconds live_within{15};

/// A daemon seen within the last day that has not recorded its exit.
struct InstanceState {
  base::Uuid instance_id;
  Worker worker;
  std::string version;
  event::Microseconds started_at = 0;
  event::Microseconds last_seen_at = 0;
  std::chrono::microseconds unseen{0};  ///< by the database's clock
  std::optional<std::string> trouble;   ///< its failure when it was last seen
  std::vector<std::int32_t> handlers;
  std::vector<std::string> topics;  ///< names and patterns (^…) that it reads
  std::optional<std::string> configuration;  ///< digest of its handlers' settings
  std::int32_t partitions = 0;               ///< that it reads
  std::optional<std::chrono::microseconds> brokers_unseen;  ///< since brokers told the end of one of these

  bool is_live() const { return unseen <= live_within; }
  /// It is live and has the handler in its configuration, whether it runs it or not.
  bool has(std::int32_t handler_id) const;
};
std::vector<InstanceState> read_instances(inbox::Connection& connection);

/// The last daemon that ran a handler.
struct EndedInstance {
  Worker worker;
  event::Microseconds last_seen_at = 0;
};
/// By handler id; handlers whose last daemon lives may be among them.
std::map<std::int32_t, EndedInstance> read_ended_instances(inbox::Connection& connection);

// The last hour.

/// Dead letters of a handler within the last hour.
struct DeadGrowth {
  std::int32_t handler_id = 0;
  std::int64_t letters = 0;
  std::int64_t of_minute = 0;
  std::int64_t of_ten_minutes = 0;
  event::Microseconds first_at = 0;
  std::string error_class;    ///< the most frequent class
  std::int64_t of_class = 0;  ///< how many have it
  std::string message;        ///< of the last of these; empty without the right to read it
};
std::vector<DeadGrowth> read_dead_growth(inbox::Connection& connection);

/// Records of a topic quarantined within the last hour.
struct QuarantineGrowth {
  std::string topic;
  std::int64_t records = 0;
  event::Microseconds first_at = 0;
  std::string reason;  ///< the most frequent reason
  std::string detail;       ///< empty without the right to read it
  bool are_empty = false;   ///< all of them: tombstones
  std::int64_t stored = 0;  ///< events of the topic since the first; counted to a limit
};
std::vector<QuarantineGrowth> read_quarantine_growth(inbox::Connection& connection);

/// A topic all of whose events expired for a handler within the last hour.
struct ExpiredTopic {
  std::int32_t handler_id = 0;
  std::string topic;
  std::int64_t events = 0;
  event::Microseconds first_at = 0;  ///< when the first expired
  event::Microseconds latest = 0;    ///< the latest time of the events themselves
};
std::vector<ExpiredTopic> read_expired_topics(inbox::Connection& connection);

/// Keys of a handler whose events wait for a failed event.
struct BlockedKeys {
  std::int32_t handler_id = 0;
  std::int64_t keys = 0;
  std::int64_t waiting = 0;            ///< events of the key with most of them
  std::optional<std::string> key;      ///< that key; nullopt: none, not UTF-8, or no right to read it
  std::string last_error;              ///< of its failed event; empty without the right to read it
  event::Microseconds received_at = 0; ///< of its failed event
};
std::vector<BlockedKeys> read_blocked_keys(inbox::Connection& connection);

/// Pending events of a delivery that were in flight at several crashes.
struct SuspectState {
  std::string handler;
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;  ///< of the first event
  std::int64_t events = 0;
  std::int32_t crashes = 0;
  std::string event_id;  ///< empty: several events, or purged
};
/// The suspects with the most crashes.
std::vector<SuspectState> read_suspects(inbox::Connection& connection);

}  // namespace inboxd::operations
