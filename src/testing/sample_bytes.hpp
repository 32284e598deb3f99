#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "config/tree.hpp"

namespace inboxd::testing {

/// The largest file that a test may name.
inline constexpr std::size_t max_sample_bytes = 16 << 20;

/// Standard base64 with its padding; blanks and line breaks are skipped. nullopt: it is none.
std::optional<std::string> bytes_of_base64(std::string_view text);
/// Two hexadecimal digits for each byte; blanks and line breaks are skipped. nullopt: it is none.
std::optional<std::string> bytes_of_hex(std::string_view text);

/// A YAML list or map as compact JSON. Plain scalars that read as JSON numbers, `true`, `false` or null are these, with
/// their digits as written; all others are strings. Recursion is bounded: parse_tree limits the nesting.
std::string json_of(const config::Node& node);

/// The content of a file, up to `max_sample_bytes`.
base::Result<std::string> content_of(const std::string& path);

}  // namespace inboxd::testing
