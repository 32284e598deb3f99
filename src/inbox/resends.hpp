#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/histogram.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// How old stored ids were when a producer sent them again. Ingesters add, maintenance takes and writes, metrics read.
class Resends final {
 public:
  /// In seconds: powers of four, up to 194 days.
  static constexpr std::array<std::int32_t, 13> bounds{1,     4,      16,      64,        256,       1'024,    4'096,
                                                       16'384, 65'536, 262'144, 1'048'576, 4'194'304, 16'777'216};

  void add(const std::vector<std::int32_t>& seconds);

  /// Resends of at most `seconds`, and more than the next lower bound.
  struct Count {
    std::int32_t seconds = 0;
    std::int64_t resends = 0;
  };
  /// Those since the last call.
  std::vector<Count> take();
  void put_back(const std::vector<Count>& counts);
  base::Histogram::Snapshot since_start() const { return histogram_.snapshot(); }

 private:
  std::array<std::atomic<std::int64_t>, bounds.size()> unwritten_{};
  base::Histogram histogram_{1,      4,      16,      64,        256,       1'024,     4'096,
                             16'384, 65'536, 262'144, 1'048'576, 4'194'304, 16'777'216};
};

/// Adds to today's counts, and deletes those of more than 90 days ago.
void note_resends(Connection& connection, const std::vector<Resends::Count>& counts);

}  // namespace inboxd::inbox
