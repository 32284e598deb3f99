#pragma once
#include <string>
#include <string_view>

namespace inboxd::base {

/// SHA-256 in lower-case hexadecimal digits. Throws std::runtime_error if OpenSSL does not have it.
std::string sha256_hex(std::string_view bytes);

}  // namespace inboxd::base
