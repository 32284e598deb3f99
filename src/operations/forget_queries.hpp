#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "operations/stored_event.hpp"

/// The statements of `events forget`.
namespace inboxd::operations {

struct KeyedEvent {
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  event::Microseconds received_at = 0;
  bool is_leased = false;  ///< an instance has it in memory
};

struct KeyedEvents {
  std::vector<KeyedEvent> events;
  std::optional<std::int64_t> last;  ///< the last offset that was looked at; nullopt: there was none
};
/// Events with this key among the next events of a shard, after that offset.
KeyedEvents find_by_key(inbox::Connection& connection, std::int32_t shard_id, std::int64_t behind,
                        const std::string& key);

struct Forgotten {
  std::int64_t erased = 0;
  std::int64_t skipped = 0;        ///< deliveries
  std::vector<KeyedEvent> leased;  ///< left alone
};
/// Erases events in a single transaction. May be repeated after any error.
Forgotten forget_events(inbox::Connection& connection, const std::string& actor, const std::vector<KeyedEvent>& events);

/// Erases some hundred dead letters, or records in quarantine and unsent messages, in a single transaction. 0: there
/// are no more.
std::int64_t forget_dead_letters(inbox::Connection& connection, const std::string& actor, const std::string& key);
struct Erased {
  std::int64_t records = 0;
  std::int64_t messages = 0;
};
Erased forget_rest(inbox::Connection& connection, const std::string& actor, const std::string& key);

struct KeyedRows {
  std::int64_t dead_letters = 0;
  std::int64_t records = 0;   ///< in quarantine
  std::int64_t messages = 0;  ///< in the outbox
};
KeyedRows count_by_key(inbox::Connection& connection, const std::string& key);

}  // namespace inboxd::operations
