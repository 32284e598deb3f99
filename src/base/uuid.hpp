#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::base {

/// 16 bytes in network order. The nil UUID is the default.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;
  /// Lower case with hyphens, 36 characters.
  std::string text() const;
};

/// Accepts 36 characters with hyphens, in either case; no braces, no urn:.
std::optional<Uuid> parse_uuid(std::string_view text);

/// RFC 9562 version 5: SHA-1 of the name within a name space.
Uuid uuid_v5(const Uuid& name_space, std::string_view name);

/// Version 4 from the kernel's random numbers.
Uuid random_uuid();

/// 64 bits of the kernel's random numbers, never 0: a fence.
std::int64_t random_fence();

}  // namespace inboxd::base
