#pragma once
#include <cstdint>
#include <string>

#include "base/uuid.hpp"

namespace inboxd::bench {

/// Makes the records of a run: the same number gives the same record. Ids look like UUIDs of version 4; their text is
/// the record's key. Any thread.
class Generator final {
 public:
  Generator(std::uint64_t seed, std::size_t payload_bytes);

  base::Uuid id(std::int64_t number) const;
  /// The 36 characters of an id, written to `out`.
  static void write_key(const base::Uuid& id, char* out);
  static constexpr std::size_t key_bytes = 36;
  /// JSON of the requested size, or longer if that is too short.
  void write_payload(std::int64_t number, std::string& out) const;
  std::size_t payload_bytes() const { return payload_bytes_; }

 private:
  std::uint64_t seed_;
  std::size_t payload_bytes_;
};

}  // namespace inboxd::bench
