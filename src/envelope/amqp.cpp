#include "envelope/amqp.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/uuid.hpp"

namespace inboxd::envelope {
namespace {

constexpr unsigned char ulong_code = 0x80, long_code = 0x81, timestamp_code = 0x83, uuid_code = 0x98;
constexpr unsigned char short_string = 0xA1, short_symbol = 0xA3, long_string = 0xB1, long_symbol = 0xB3;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t out = 0;
  for (const char c : bytes) out = out << 8 | static_cast<unsigned char>(c);
  return out;
}

}  // namespace

std::optional<std::string_view> amqp_text(std::string_view bytes, base::Arena& arena) {
  if (bytes.size() < 2) return std::nullopt;
  const std::string_view value = bytes.substr(1);
  switch (static_cast<unsigned char>(bytes[0])) {
    case short_string:
    case short_symbol:
      if (big_endian(value.substr(0, 1)) != value.size() - 1) return std::nullopt;
      return value.substr(1);
    case long_string:
    case long_symbol:
      if (value.size() < 4 || big_endian(value.substr(0, 4)) != value.size() - 4) return std::nullopt;
      return value.substr(4);
    case uuid_code: {
      base::Uuid uuid;
      if (value.size() != uuid.bytes.size()) return std::nullopt;
      std::copy(value.begin(), value.end(), uuid.bytes.begin());
      return arena.copy(uuid.text());
    }
    case ulong_code:
      if (value.size() != sizeof(std::uint64_t)) return std::nullopt;
      return arena.copy(std::to_string(big_endian(value)));
    case long_code:
    case timestamp_code:  // milliseconds since 1970
      if (value.size() != sizeof(std::uint64_t)) return std::nullopt;
      return arena.copy(std::to_string(static_cast<std::int64_t>(big_endian(value))));
    default:
      return std::nullopt;
  }
}

}  // namespace inboxd::envelope
