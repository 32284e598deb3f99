#pragma once
#include <string>
#include <string_view>

namespace inboxd::base {

/// HMAC-SHA-256, 32 bytes. Throws std::runtime_error if OpenSSL does not have it.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Compares in a time that depends on the lengths alone.
bool same_secret(std::string_view one, std::string_view other);

}  // namespace inboxd::base
