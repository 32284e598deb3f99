#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::base {

/// HMAC-SHA-256, 32 bytes. Throws std::runtime_error if OpenSSL does not have it.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Compares in a time that depends on the lengths alone.
bool same_secret(std::string_view one, std::string_view other);

std::string to_base64(std::string_view bytes);
/// nullopt: not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace inboxd::base
