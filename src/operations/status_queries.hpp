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

/// Of a batch handler.
struct WindowState {
  std::optional<event::Microseconds> next_close;  ///< nullopt: no instance has run the handler yet
  int postponed = 0;                              ///< closes in a row that had too few events
  std::optional<event::Microseconds> closed_at;   ///< of the last window; nullopt: there was none
  bool has_ended = false;
  std::optional<std::chrono::microseconds> took;  ///< until now, if it has not ended
  std::int64_t events = 0;
  std::int64_t retrying = 0;  ///< when it ended: failed events that wait for a later window
  std::int64_t dead = 0;
};

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
  Count waiting;   ///< for another event of their key, or for their window
  Count dead;
  std::optional<std::chrono::microseconds> oldest_due_age;
  std::optional<std::chrono::microseconds> oldest_retrying_age;  ///< since receipt, of events that have failed
  std::int64_t backfill = 0;                                     ///< offsets that its back-fill has yet to pass
  std::int64_t parked = 0;            ///< by a dead letter of their key; not in `dead`
  std::int64_t held_by_gone = 0;      ///< of `leased`: by daemons that have gone
  std::optional<event::Microseconds> held_until;  ///< by then other daemons may take them
  std::optional<WindowState> window;  ///< mode batch

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

  bool is_live() const { return unseen <= live_within; }
};
std::vector<InstanceState> read_instances(inbox::Connection& connection);

/// The last daemon that ran a handler.
struct EndedInstance {
  Worker worker;
  event::Microseconds last_seen_at = 0;
};
/// By handler id; handlers whose last daemon lives may be among them.
std::map<std::int32_t, EndedInstance> read_ended_instances(inbox::Connection& connection);

/// Handlers with pending events that no live instance runs: renamed without an alias, or removed from every
/// configuration. None if no instance is live.
std::vector<HandlerState> handlers_without_instance(const std::vector<HandlerState>& handlers,
                                                    const std::vector<InstanceState>& instances);

/// A subscription to a topic, or a prefix of topics, that no live instance reads.
struct UnreadSubscription {
  std::string handler;
  std::string topic;
  bool operator==(const UnreadSubscription&) const = default;
};
/// None until every live instance has recorded its topics.
std::vector<UnreadSubscription> unread_subscriptions(const std::vector<HandlerState>& handlers,
                                                     const std::vector<InstanceState>& instances);

}  // namespace inboxd::operations
