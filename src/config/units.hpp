#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// How durations, sizes and times are written for people: `250ms 30s 5m 12h 7d`, `512B 64KiB 8MiB 2GiB`, RFC 3339.
/// Pure functions. Parsing gives nullopt where the text is anything else; what `*_text` writes parses to the same.
namespace inboxd::config {

/// A whole number of ms, s, m, h or d, with its unit; at most 100 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string duration_text(std::chrono::milliseconds duration);

/// Bytes: a whole number of B, KiB, MiB or GiB, with its unit; at most 1 PiB.
std::optional<std::int64_t> parse_size(std::string_view text);
std::string size_text(std::int64_t bytes);

/// RFC 3339 with its offset (`2024-01-31T12:00:00.5+01:00`), as microseconds since 1970 UTC. Digits after the sixth are
/// dropped; a leap second is not accepted.
std::optional<std::int64_t> parse_time(std::string_view text);
/// In UTC, with a fraction only where there is one. Years beyond 9999 have as many digits as they need.
std::string time_text(std::int64_t microseconds);

}  // namespace inboxd::config
