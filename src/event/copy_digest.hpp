#pragma once
#include <string_view>

namespace inboxd::event {

/// In a copy of handler `kafka` and in a dead letter, next to the headers of its origin: the SHA-256 of the payload in
/// hexadecimal digits, `null` for a null. An application may forward these headers with a payload of its own, which the
/// digest tells.
inline constexpr std::string_view copy_digest_header = "inboxd-payload-sha256";
inline constexpr std::string_view digest_of_null = "null";

}  // namespace inboxd::event
