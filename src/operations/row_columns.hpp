#pragma once
#include "operations/columns.hpp"

/// The columns of each kind of row.
namespace inboxd::operations::columns {

using enum ColumnType;

inline constexpr Column stopped_message[]{
    {"outbox_id", integer, "", "NUMBER"},
    {"message_id", uuid},
    {"topic", text, "", "TOPIC"},
    maybe({"key", key, "", "KEY", gives_way}),
    {"whole_topic", flag, "every message of the topic waits"},
    {"error", text, "of the brokers", "ERROR", gives_way},
    {"attempts", integer, "", "ATTEMPTS"},
    {"waiting", count, "messages behind it; at most 10,000 are counted", "WAITING"},
    {"stopped_at", time, "", "STOPPED"},
    maybe({"due_at", time, "null: an operator has to act", "DUE"}),
};

inline constexpr Column lane[]{
    {"handler", text, "", "HANDLER"},
    maybe({"key", bytes, "", "KEY", gives_way}),
    {"state", word, "blocked, parked", "STATE"},
    {"waiting", count, "events behind the first one", "WAITING"},
    maybe({"head_event_id", uuid, "", "FIRST EVENT"}),
    {"attempts", integer, "of the first one", "ATTEMPTS"},
    maybe({"due_at", time, "null: it runs now, or the key is parked", "DUE"}),
    maybe({"last_error", text, "", "LAST ERROR", gives_way}),
};

inline constexpr Column change[]{
    {"occurred_at", time, "", "MADE"},
    {"actor", text, "", "ACTOR"},
    {"operation", text, "such as `dead replay`", "OPERATION"},
    {"target", text, "the request", "TARGET", gives_way},
    {"detail", json, "how many, by kind", "DETAIL", gives_way},
};

inline constexpr Column quarantined_record[]{
    {"quarantine_id", integer, "", "NUMBER"},
    {"reason", text, "", "REASON"},
    {"detail", text, "", "DETAIL", gives_way},
    maybe({"event_id", uuid}),
    {"kafka", place, "", "KAFKA"},
    {"topic", text},
    {"partition", integer},
    {"offset", integer},
    maybe({"key", key}),
    {"key_is_cut", is_cut, "the key is longer than shown"},
    maybe({"payload_size", size, "bytes", "SIZE"}),
    maybe({"kafka_timestamp", producers_time, "the record's"}),
    {"received_at", time, "", "RECEIVED"},
};

inline constexpr Column event_summary[]{
    {"event_id", uuid, "", "EVENT_ID"},
    {"source_id", text, "the producer's id; event_id as text if the producer's id is a UUID", "SOURCE_ID", gives_way},
    {"kafka", place, "", "KAFKA"},
    {"topic", text},
    {"partition", integer},
    {"offset", integer},
    {"event_type", text, "empty: none", "TYPE", gives_way},
    maybe({"source", text, "", "SOURCE", gives_way}),
    maybe({"subject", text}),
    maybe({"key", key, "", "KEY", gives_way}),
    {"key_is_cut", is_cut, "the key is longer than shown"},
    maybe({"payload_size", size, "bytes; null: a tombstone", "SIZE"}),
    maybe({"occurred_at", producers_time, "by the producer's clock"}),
    maybe({"kafka_timestamp", producers_time, "the record's"}),
    {"received_at", time, "when it was stored, by the database's clock", "RECEIVED"},
};

/// Without its event.
inline constexpr Column dead_letter[]{
    {"dead_letter_id", integer, "", "NUMBER"},
    {"handler", text, "", "HANDLER"},
    {"state", word, "dead, expired, parked", "STATE"},
    {"attempts", integer, "", "ATTEMPTS"},
    {"died_at", time, "", "DIED"},
    {"error_class", text, "of the last failure", "CLASS", gives_way},
    {"last_error", text, "", "LAST ERROR", gives_way},
    maybe({"notes", text}),
};

/// With the columns by which the dead letters are grouped.
inline constexpr Column dead_group[]{
    optional({"handler", text, "", "HANDLER"}),
    optional({"error_class", text, "", "ERROR CLASS", gives_way}),
    optional({"event_type", text, "", "TYPE", gives_way}),
    {"dead", count, "", "DEAD"},
    {"first_died_at", time, "", "FIRST"},
    {"last_died_at", time, "", "LAST"},
};

inline constexpr Column failure[]{
    {"handler", text, "", "HANDLER"},
    {"attempt", integer, "from 1", "ATTEMPT"},
    {"occurred_at", time, "", "FAILED AT"},
    {"error_class", text, "", "CLASS"},
    {"message", text, "", "MESSAGE", gives_way},
    maybe({"duration_seconds", seconds, "", "TOOK"}),
};

/// Of a dead letter.
inline constexpr Column reason[]{
    {"attempt", integer, "", "ATTEMPT"},
    {"occurred_at", time, "", "FAILED AT"},
    {"error_class", text, "", "CLASS"},
    {"message", text, "", "MESSAGE", gives_way},
};

}  // namespace inboxd::operations::columns
