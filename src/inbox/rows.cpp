#include "inbox/rows.hpp"

#include <arpa/inet.h>
#include <endian.h>

#include <cstring>

#include "inbox/arrays.hpp"

namespace inboxd::inbox {

std::int32_t BinaryRow::int4(int column) const {
  std::uint32_t wire = 0;
  std::memcpy(&wire, bytes(column).data(), sizeof wire);
  return static_cast<std::int32_t>(ntohl(wire));
}

std::int64_t BinaryRow::int8(int column) const {
  std::uint64_t wire = 0;
  std::memcpy(&wire, bytes(column).data(), sizeof wire);
  return static_cast<std::int64_t>(be64toh(wire));
}

base::Uuid BinaryRow::uuid(int column) const {
  base::Uuid out;
  std::memcpy(out.bytes.data(), bytes(column).data(), out.bytes.size());
  return out;
}

std::optional<event::Microseconds> BinaryRow::time(int column) const {
  if (is_null(column)) return std::nullopt;
  return int8(column) + postgres_epoch_us;
}

}  // namespace inboxd::inbox
