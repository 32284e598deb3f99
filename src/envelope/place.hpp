#pragma once
#include <string_view>

namespace inboxd::envelope {

/// How the configuration names a place in a record: `header:NAME`, `json:/pointer` or `key`.
inline constexpr std::string_view header_prefix = "header:";
inline constexpr std::string_view json_prefix = "json:";

}  // namespace inboxd::envelope
