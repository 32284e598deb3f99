#pragma once
#include <optional>
#include <string_view>

#include "config/settings.hpp"
#include "event/record.hpp"

namespace inboxd::envelope {

/// RFC 3339 (`2024-05-01T12:00:00.25Z`), to the microsecond; nothing if the text is no such time.
std::optional<event::Microseconds> parse_rfc3339(std::string_view text);

/// The format of NServiceBus and Wolverine (`2024-05-01 12:00:00:250000 Z`), or RFC 3339.
std::optional<event::Microseconds> parse_nservicebus_time(std::string_view text);

/// RFC 1123 (`Wed, 1 May 2024 12:00:00 GMT`); the day may have a leading zero.
std::optional<event::Microseconds> parse_http_date(std::string_view text);

/// A number since 1970 UTC in a unit that its magnitude tells.
std::optional<event::Microseconds> time_of(std::int64_t number);

/// RFC 3339, or a whole or decimal number since 1970 UTC.
std::optional<event::Microseconds> parse_time(std::string_view text,
                                              config::TimeUnit unit = config::TimeUnit::automatic);

/// The time if PostgreSQL's timestamptz can hold it (4714 BC to 294276 AD). Any other time is left out, and the record
/// is kept.
constexpr std::optional<event::Microseconds> database_time(std::optional<event::Microseconds> time) {
  // The range ends after 2^63 microseconds since 1970, so only its beginning matters.
  constexpr event::Microseconds earliest = -210'866'803'200'000'000;
  return time && *time >= earliest ? time : std::nullopt;
}

/// A record's own timestamp; Kafka's "none" is negative.
inline std::optional<event::Microseconds> record_time(const event::Record& record) {
  return record.timestamp && *record.timestamp >= 0 ? record.timestamp : std::nullopt;
}

}  // namespace inboxd::envelope
