#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::base {

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

/// Strict: padded, without line breaks. nullopt: it is no base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace inboxd::base
