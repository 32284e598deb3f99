#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "inbox/operations.hpp"

namespace inboxd::inbox {

/// A record that could not become an event.
struct QuarantinedEntry {
  std::int64_t quarantine_id = 0;
  std::string reason;                          ///< no_id, bad_id, too_large, undecodable, conflict, poison
  std::string detail;
  std::optional<base::Uuid> event_id;          ///< conflict: the event that came before
  std::int64_t payload_size = 0;               ///< bytes, also where the payload was too large to keep
  std::int64_t digest = 0;
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::optional<std::string> key;
  bool key_is_cut = false;  ///< in a list: it is longer
  std::optional<event::Microseconds> kafka_timestamp;
  event::Microseconds received_at = 0;
  std::optional<std::string> payload;          ///< only where the whole record was asked for
  std::optional<std::string> headers;          ///< packed; the same
};

struct QuarantineFilter {
  std::vector<std::string> topics;             ///< exact or prefix*; empty = all
  std::vector<std::string> reasons;
  Period received;
};

/// The newest, without payloads.
std::vector<QuarantinedEntry> list_quarantined(Connection& connection, const QuarantineFilter& filter,
                                               std::int64_t limit);

/// One, whole, or nothing.
std::vector<QuarantinedEntry> find_quarantined(Connection& connection, std::int64_t quarantine_id);

/// Those of a place in Kafka, whole.
std::vector<QuarantinedEntry> find_quarantined(Connection& connection, const std::string& topic,
                                               std::int32_t partition, std::int64_t offset);

}  // namespace inboxd::inbox
