#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "operations/operation.hpp"
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

/// Keys and whole topics whose first message the brokers refuse: that message, as columns::stopped_message.
Document list_stopped(inbox::Connection& connection, const std::vector<std::string>& topics, std::int64_t limit);

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
