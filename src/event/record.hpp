#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace inboxd::event {

/// Bytes or null. Null is not empty: a tombstone is not an empty payload.
using MaybeBytes = std::optional<std::string_view>;

/// Microseconds since 1970-01-01 UTC.
using Microseconds = std::int64_t;

struct Header {
  std::string_view name;
  MaybeBytes value;
  bool operator==(const Header&) const = default;
};

/// A Kafka record as it arrived: untrusted bytes, nothing checked. A view: the polled message owns the memory.
struct Record {
  std::string_view topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::int32_t leader_epoch = -1;
  MaybeBytes key;
  MaybeBytes payload;
  std::vector<Header> headers;                 ///< in their order, repeated names included
  std::optional<Microseconds> timestamp;       ///< the broker's or the producer's, unchecked
};

/// The last header of that name, or null. A header without a value is `Header{name, nullopt}`.
inline const Header* find_header(const std::vector<Header>& headers, std::string_view name) {
  for (auto it = headers.rbegin(); it != headers.rend(); ++it) {
    if (it->name == name) return &*it;
  }
  return nullptr;
}

}  // namespace inboxd::event
