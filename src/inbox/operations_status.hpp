#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "inbox/operations.hpp"
#include "inbox/operations_shards.hpp"

namespace inboxd::inbox {

/// A handler as the database knows it, and what it has outstanding, in events.
struct HandlerState {
  std::int32_t handler_id = 0;
  std::string name;
  std::string mode;
  std::vector<std::string> topics;             ///< exact or prefix*; empty = all
  std::vector<std::string> types;
  std::string started_from;
  std::optional<std::string> paused_reason;
  std::optional<event::Microseconds> retired_at;
  Count due;                                   ///< anybody may take them now
  Count leased;                                ///< in somebody's hand
  Count retrying;                              ///< failed, due later
  Count waiting;                               ///< behind another event of their key
  Count dead;
  std::optional<std::chrono::microseconds> oldest_due_age;
  std::optional<std::chrono::microseconds> oldest_retrying_age;  ///< since it came, of those that have failed
  std::int64_t backfill = 0;                   ///< offsets of the past that it is still to be given
};
std::vector<HandlerState> read_handlers(Connection& connection);

/// A daemon that was seen within the last day and did not say goodbye.
struct InstanceState {
  base::Uuid instance_id;
  Worker worker;
  std::string version;
  event::Microseconds started_at = 0;
  event::Microseconds last_seen_at = 0;
  std::chrono::microseconds unseen{0};         ///< by the database's clock
  std::optional<std::string> trouble;          ///< what it could not do when it was last seen
};
std::vector<InstanceState> read_instances(Connection& connection);

/// Quarantined records of all topics.
Count count_quarantined(Connection& connection);

}  // namespace inboxd::inbox
