#pragma once
#include <cstdint>
#include <optional>

namespace inboxd::consumer {

/// Whether what comes first behind a position may be believed. The client library may fetch a partition for a moment
/// before it was paused, and what comes of that is dropped until the position is known: where the first record that is
/// taken, or the partition's end, lies behind the position, those between may be such, and nothing else would notice.
/// So the position is looked up and sought once more. What is missing then, too, is not in the log: compacted, or a
/// mark of a transaction. One thread; pure.
class Beginning final {
 public:
  /// The position was looked up, and is sought.
  void looked_up() { has_begun_ = false; }

  /// Of a record, or an end, at `offset`. False: look the position up again.
  bool is_believed(std::int64_t position, std::int64_t offset) {
    if (!has_begun_ && offset > position && doubted_ != position) {
      doubted_ = position;
      return false;
    }
    has_begun_ = true;
    return true;
  }

 private:
  bool has_begun_ = false;
  std::optional<std::int64_t> doubted_;  ///< the position at which that has been done
};

}  // namespace inboxd::consumer
