#pragma once
#include <chrono>
#include <inboxd/handler.hpp>
#include <optional>
#include <string>
#include <string_view>

/// Bytes, times and durations as text, for handlers that send events elsewhere.
namespace handlers {

std::string base64(std::string_view bytes);
/// nullopt: no base64 with padding.
std::optional<std::string> from_base64(std::string_view text);

/// RFC 3339 in UTC, with microseconds.
std::string time_text(std::chrono::microseconds since_1970);

/// `250ms 30s 5m 12h 7d`, at most INBOXD_MAX_DELAY_MS; nullopt: something else.
std::optional<inboxd::Milliseconds> duration_of(const std::string& text);

/// A UUID in any spelling of RFC 4122 (upper case, urn:uuid:, braces, no hyphens) as 36 characters in lower case; any
/// other text unchanged.
std::string canonical_id(std::string_view text);

/// RFC 3986: everything but letters, digits and - . _ ~ as %XX. So it is a single segment of a path.
std::string percent_encoded(std::string_view bytes);

/// Whether JSON is nested so deep that code which follows it by recursion could exhaust the stack.
bool is_deep(std::string_view json);

}  // namespace handlers
