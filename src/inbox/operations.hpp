#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "event/record.hpp"

/// What the operations (status, events, dead, quarantine, shards) have in common. They are what people do with the
/// inbox, apart from the daemon's own path: none of them is called by a running daemon's threads.
///
/// All functions of the operations_*.hpp take a Connection and throw what `describe` (database_error.hpp) reads. Those
/// that only read need no more than `select` on the tables.
namespace inboxd::inbox {

/// A count that was not carried on beyond a limit: `at_least` says that there are more.
struct Count {
  std::int64_t number = 0;
  bool at_least = false;
  bool operator==(const Count&) const = default;
};

/// [since, until); nullopt: open.
struct Period {
  std::optional<event::Microseconds> since;
  std::optional<event::Microseconds> until;
};

/// An event as it is stored, by itself or as a dead letter's copy, with memory of its own.
struct StoredEvent {
  std::int32_t shard_id = 0;
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  base::Uuid event_id;
  std::optional<std::string> source_id;        ///< null where it is event_id's text
  std::string event_type;
  std::optional<std::string> source;
  std::optional<std::string> subject;
  std::optional<std::string> key;
  bool key_is_cut = false;                     ///< in a list: it is longer
  std::optional<std::int64_t> payload_size;    ///< bytes; null: a tombstone
  std::optional<event::Microseconds> occurred_at;
  std::optional<event::Microseconds> kafka_timestamp;
  event::Microseconds received_at = 0;
  std::optional<std::string> payload;          ///< only where the whole event was asked for
  std::optional<std::string> headers;          ///< packed (event/headers.hpp); the same
};

/// A running daemon's process, as far as it is known.
struct Worker {
  std::string host;
  std::int32_t process_id = 0;
};

/// Versions of the database libraries that are linked: name and version.
struct LibraryVersion {
  std::string name;
  std::string version;
};
std::vector<LibraryVersion> database_libraries();

}  // namespace inboxd::inbox
