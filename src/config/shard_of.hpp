#pragma once
#include <chrono>
#include <cstdint>

namespace inboxd::config {

/// Of several databases that share topics: partition p belongs to the database with index p mod `of`.
struct ShardOf {
  int index = 0;
  int of = 1;
  std::chrono::milliseconds lease{10'000};  ///< of the right to read; another instance may read after it
  bool is_one_of_many() const { return of > 1; }
  bool owns(std::int32_t partition) const { return partition % of == index; }
  bool operator==(const ShardOf&) const = default;
};

}  // namespace inboxd::config
