#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Durations, sizes and times as text: `250ms 30s 5m 12h 7d`, `512B 64KiB 8MiB 2GiB`, RFC 3339. Pure functions. Parsing
/// returns nullopt for any other text; a `*_text` result parses to the same value.
namespace inboxd::config {

/// A whole number of ms, s, m, h or d; at most 100 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string duration_text(std::chrono::milliseconds duration);

/// A whole number of B, KiB, MiB or GiB; at most 1 PiB.
std::optional<std::int64_t> parse_size(std::string_view text);
std::string size_text(std::int64_t bytes);

/// RFC 3339 with an offset (`2024-01-31T12:00:00.5+01:00`), as microseconds since 1970 UTC. Digits after the sixth are
/// dropped; leap seconds are not accepted.
std::optional<std::int64_t> parse_time(std::string_view text);
/// In UTC, with a fraction only if it is not zero. Years beyond 9999 have more digits.
std::string time_text(std::int64_t microseconds);

}  // namespace inboxd::config
