#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event/record.hpp"
#include "inbox/connection.hpp"

namespace inboxd::operations {

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

}  // namespace inboxd::operations
