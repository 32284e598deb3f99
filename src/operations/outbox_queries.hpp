#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::operations {

/// Messages on their way to Kafka.
struct OutboxState {
  Count backlog;                                         ///< to send
  std::optional<std::chrono::microseconds> oldest_age;  ///< of these
  Count stopped;                                         ///< keys and topics
  Count waiting;                                         ///< messages in them
};
OutboxState read_outbox_state(inbox::Connection& connection);

/// A key, or a whole topic, whose first message the brokers refuse.
struct StoppedMessage {
  std::int64_t outbox_id = 0;
  base::Uuid message_id;
  std::string topic;
  std::optional<std::string> key;  ///< shortened
  bool key_is_cut = false;
  bool whole_topic = false;
  std::string error;
  std::int32_t attempts = 0;
  std::int64_t waiting = 0;  ///< behind the first one
  event::Microseconds stopped_at = 0;
  std::optional<event::Microseconds> due_at;  ///< nullopt: an operator decides
};
std::vector<StoppedMessage> list_stopped(inbox::Connection& connection, const std::vector<std::string>& topics,
                                         std::int64_t limit);

/// Which stopped messages a command is about; none of both: all.
struct StoppedFilter {
  std::vector<std::int64_t> outbox_ids;
  std::vector<std::string> topics;
};
struct PickedMessage {
  std::int64_t outbox_id = 0;
  std::string topic;
};
std::vector<PickedMessage> pick_stopped(inbox::Connection& connection, const StoppedFilter& filter, std::int64_t limit);

/// Return the number of lanes, or messages.
std::int64_t retry_stopped(inbox::Connection& connection, const std::vector<std::int64_t>& outbox_ids,
                           const Deed& deed);
std::int64_t skip_stopped(inbox::Connection& connection, const std::vector<std::int64_t>& outbox_ids, const Deed& deed);

}  // namespace inboxd::operations
