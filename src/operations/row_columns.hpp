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
    {"waiting", count, "messages that wait for it; at most 10,000 are counted", "WAITING"},
    {"stopped_at", time, "", "STOPPED"},
    maybe({"due_at", time, "null: an operator has to act", "DUE"}),
};

inline constexpr Column lane[]{
    {"handler", text, "", "HANDLER"},
    maybe({"key", bytes, "", "KEY", gives_way}),
    {"state", word, "blocked, parked", "STATE"},
    {"waiting", count, "events that wait for the first event", "WAITING"},
    maybe({"head_event_id", uuid, "", "FIRST EVENT"}),
    {"attempts", integer, "of the first event", "ATTEMPTS"},
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

/// Of `events failures`.
inline constexpr Column failed_attempt[]{
    {"event_id", uuid, "", "EVENT"},
    {"handler", text, "", "HANDLER"},
    {"attempt", integer, "from 1", "ATTEMPT"},
    {"occurred_at", time, "", "FAILED AT"},
    {"error_class", text, "", "CLASS"},
    {"message", text, "", "MESSAGE", gives_way},
    maybe({"duration_seconds", seconds, "", "TOOK"}),
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

inline constexpr Column quarantine_group[]{
    {"topic", text, "", "TOPIC", gives_way},
    {"reason", text, "", "REASON"},
    {"records", count, "", "RECORDS"},
    {"detail", text, "of the newest record", "NEWEST DETAIL", gives_way},
    {"first_received_at", time, "", "FIRST"},
    {"last_received_at", time, "", "LAST"},
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
    maybe({"deliver_at", producers_time, "no handler gets it before; null: at once"}),
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

/// The content that a handler gets in place of the event's own; without it.
inline constexpr Column edit[]{
    {"handler", text},
    {"edited_at", time},
    {"edited_by", text},
    maybe({"payload_size", size, "bytes"}),
};

/// With the columns by which the dead letters are grouped.
inline constexpr Column dead_group[]{
    optional({"handler", text, "", "HANDLER"}),
    optional({"error_class", text, "", "ERROR CLASS", gives_way}),
    optional({"event_type", text, "", "TYPE", gives_way}),
    {"dead", count, "", "DEAD"},
    {"first_died_at", time, "", "FIRST"},
    {"last_died_at", time, "", "LAST"},
    {"last_day", json, "by age in whole hours, if less than 24: how many died"},
    maybe({"note", text, "the newest of `dead note`, of groups by handler and error class", "NOTE", gives_way}),
    maybe({"noted_by", text}),
    maybe({"noted_at", time}),
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

/// The last window of a batch handler.
inline constexpr Column window[]{
    maybe({"next_close", time, "null: no instance has run the handler yet"}),
    {"postponed", integer, "closes in a row with too few events"},
    maybe({"closed_at", time, "of the last window; null: none yet"}),
    {"is_running", flag, "it has events without an outcome"},
    maybe({"seconds", seconds, "that its calls took, so far if it is running"}),
    {"events", integer},
    {"retrying", integer, "failed events that waited for a later window when it ended"},
    {"dead", integer, "dead letters of the handler while it ran"},
};

// Written by C++ code, which decides on the values.

inline constexpr Column partition[]{
    {"partition_id", integer},
    {"source", text},
    {"topic", text, "", "TOPIC", gives_way},
    {"partition", integer, "", "PARTITION"},
    {"incarnation", text, "the topic's id"},
    {"is_newest", flag, "no later incarnation is known"},
    maybe({"epoch", integer, "", "EPOCH"}),
    maybe({"position", count, "the next offset to store", "POSITION"}),
    maybe({"high_watermark", count, "the broker's, including open transactions, as of observed_at", "HIGH"}),
    maybe({"lag", count, "records; null: not observed for 10 s, or no daemon runs", "LAG"}),
    maybe({"observed_at", time, "when a daemon last observed the high watermark"}),
    maybe({"observed_age_seconds", seconds}),
    maybe({"last_stable_offset", integer, "the first offset of the oldest open transaction, if any"}),
    maybe({"transaction_open_since", time, "if an open transaction holds the partition back"}),
    maybe({"halted_reason", text}),
    maybe({"halted_at", time}),
    maybe({"what_to_do", text, "the command or condition that ends a halt"}),
    maybe({"gap", range}),
    maybe({"new_incarnation", text, "waits for `partitions accept-recreated`"}),
    {"accepted_gaps", ranges, "", "GAPS"},
};

/// Without its window.
inline constexpr Column handler[]{
    {"handler", text, "", "HANDLER", gives_way},
    {"mode", text},
    {"topics", texts, "a name, or a prefix with *"},
    {"types", texts},
    {"started_from", text},
    maybe({"paused_reason", text, "", "", gives_way}),
    maybe({"retired_at", time}),
    {"due", limited, "events that any instance may claim now", "DUE"},
    {"leased", limited, "claimed by an instance", "IN MEMORY"},
    {"retrying", limited, "failed, due later", "RETRYING"},
    {"waiting", limited, "for another event of their key, for their window, or for their deliver_at", "WAITING"},
    maybe({"next_deliver_at", time, "the earliest deliver_at that events wait for; null: none"}),
    {"dead", limited, "dead letters", "DEAD"},
    maybe({"running_calls", count, "in all live instances", "CALLS"}),
    maybe({"concurrency", count, "calls that may run at once there"}),
    maybe({"oldest_due_age_seconds", seconds, "", "OLDEST"}),
    maybe({"oldest_retrying_age_seconds", seconds, "since receipt"}),
    {"backfill", count, "offsets that its back-fill has yet to pass"},
};

inline constexpr Column instance[]{
    {"instance_id", uuid},
    {"host", text, "", "DAEMON", gives_way},
    {"process_id", integer, "", "PROCESS"},
    {"version", text, "", "VERSION"},
    {"started_at", time, "", "STARTED"},
    {"last_seen_at", time, "", "LAST SEEN"},
    {"unseen_seconds", seconds, "by the database's clock"},
    {"is_gone", flag, "not seen within 15 s"},
    maybe({"trouble", text, "its failure when it was last seen"}),
    maybe({"configuration", text, "digest of its handlers' settings"}),
    {"partitions", integer, "that it reads"},
    maybe({"brokers_unseen_seconds", seconds, "since the brokers told the end of one of these"}),
};

inline constexpr Column table_size[]{
    {"table", text, "", "TABLE", gives_way},
    maybe({"day", text, "null: no days", "DAY"}),
    {"bytes", size, "", "SIZE"},
};

inline constexpr Column table_growth[]{
    {"table", text, "", "GROWS", gives_way},
    {"bytes_per_day", size, "at today's rate", "PER DAY"},
    maybe({"days_left", number, "until its oldest day is dropped; null: never", "DAYS UNTIL ITS OLDEST IS DROPPED"}),
};

/// Of a running daemon, like handler_here.
inline constexpr Column partition_here[]{
    {"topic", text, "", "TOPIC", gives_way},
    {"partition", count, "", "PARTITION"},
    {"state", text, "", "STATE"},
    maybe({"position", count, "", "POSITION"}),
    maybe({"high_watermark", count}),
    maybe({"lag", count, "", "LAG"}),
    {"received", count, "records since the start", "RECEIVED"},
};

inline constexpr Column handler_here[]{
    {"handler", text, "", "HANDLER", gives_way},
    {"in_flight", count, "events", "IN FLIGHT"},
    {"in_flight_bytes", size},
    {"queued", count, "of them waiting for a worker", "QUEUED"},
    {"per_second", number, "recent rate of events"},
    {"has_backlog", flag, "more events are due in the database", "NOW"},
    {"paused", flag},
    {"stopped", flag, "too many of its calls never returned"},
    {"abandoned_calls", count, "past their deadline and not yet returned", "ABANDONED"},
    {"deadlines_passed", count},
    {"repeated_transactions", count},
    {"released", count},
};

}  // namespace inboxd::operations::columns
