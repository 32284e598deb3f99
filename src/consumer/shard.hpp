#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consumer/messages.hpp"
#include "envelope/decode.hpp"
#include "inbox/claim.hpp"
#include "inbox/connection.hpp"
#include "inbox/shard_position.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// Checks that the first record or end read after a seek is at the position. The client library may fetch for a moment
/// before a pause takes effect, and the ingester drops such records. A gap after the position may hide them, so the
/// position is looked up and sought once more. A gap that is there again belongs to the log: compacted records, or the
/// marker of a transaction. Not thread-safe; pure.
class FirstFetchCheck final {
 public:
  /// The position was looked up and is sought.
  void restart() { has_passed_ = false; }

  /// For a record, or an end, at `offset`. False: look the position up again.
  bool accepts(std::int64_t position, std::int64_t offset) {
    if (!has_passed_ && offset > position && refused_at_ != position) {
      refused_at_ = position;
      return false;
    }
    has_passed_ = true;
    return true;
  }

 private:
  bool has_passed_ = false;
  std::optional<std::int64_t> refused_at_;  ///< the position that was looked up twice
};

/// Finds a partition that delivers nothing. After each seek the client library reports at least the end of the
/// partition, so silence means that the library lost the resume. Then the position is looked up and sought again.
/// A slow broker or a long stretch of aborted records looks the same and is disturbed by the seek, so the patience
/// doubles each time. Not thread-safe; pure.
class StallDetector final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds patience{10}, max_patience{3600};

  /// The position was looked up and is sought.
  void restart(Clock::time_point now) {
    since_ = now;
    has_received_ = false;
    wait_for_.reset();
  }

  /// A record, an end or an error came.
  void note_message() { has_received_ = true; }

  /// `taken`: messages taken from the shared queue so far; `waiting`: messages in it. True: look the position up again.
  bool is_stalled(Clock::time_point now, std::uint64_t taken, std::uint64_t waiting) {
    if (has_received_) {
      patience_ = patience;
      return false;
    }
    if (now - since_ < patience_) return false;
    if (!wait_for_) wait_for_ = taken + waiting;  // its message may be among them
    if (taken < *wait_for_ && waiting > 0) return false;
    patience_ = std::min(patience_ * 2, max_patience);
    return true;
  }

 private:
  Clock::time_point since_{};
  bool has_received_ = true;  ///< nothing can come before the first look-up
  std::chrono::seconds patience_ = patience;
  std::optional<std::uint64_t> wait_for_;  ///< the count of taken messages at which the queue has been worked off
};

/// A partition as its ingester knows it. Messages count only while it is `reading`; all others are dropped, because the
/// partition is sought again after its position was looked up.
struct Shard {
  enum class State {
    looking_up,  ///< its position is not known, or doubted
    reading,
    broken,  ///< a record could not be read: its position is looked up again, or it halts
    halted,
  };
  void change(State to);
  bool is_read() const { return state == State::reading || state == State::broken; }
  /// The position is known and belongs to the partition's present log.
  bool has_lag() const { return state != State::looking_up && position.shard_id != 0; }

  Assignment assignment;
  State state = State::looking_up;
  inbox::ShardPosition position;  ///< next_offset: the offset expected in the database
  envelope::TopicRules rules;
  std::shared_ptr<const inbox::Place> place;
  /// The partition was halted and is read again. The reason stays until a record, or the end, was read.
  std::optional<std::string> halted_reason;
  bool has_read = false;  ///< while `halted_reason` is set: a record or the end was read
  FirstFetchCheck first_fetch_check = {};
  StallDetector stall_detector = {};
  std::int32_t assigned_shard = 0;  ///< as told to the dispatcher; 0: none
};

/// A shard whose position in the database differs from the position that its ingester stored last.
struct PositionMismatch {
  Shard* shard = nullptr;
  std::optional<std::int64_t>
      next_offset;  ///< nothing: the database has no such shard, or gives it to another partition
  /// The database lost commits: it was restored, or failed over to a standby that lagged. False: another instance or an
  /// operator moved the position.
  bool is_behind = false;
};
std::vector<PositionMismatch> position_mismatches(const std::vector<Shard*>& shards,
                                                  const std::vector<inbox::ShardPlace>& places);

/// Compares an ingester's positions with the database. A batch finds a mismatch by itself, but a quiet partition has no
/// batches. Used on the ingester's thread, and only between batches, when its positions are the positions of the last
/// COMMIT.
class PositionCheck final {
 public:
  using Clock = std::chrono::steady_clock;
  using Shards = std::map<kafka::TopicPartition, Shard>;

  /// At intervals, and at once in a new session, which may be on another server.
  bool is_due(int generation, Clock::time_point now) const;
  /// A single query for all shards that are being read. Throws database errors (inbox::describe); due again soon after
  /// that.
  std::vector<PositionMismatch> run(inbox::Connection& connection, Shards& shards, Clock::time_point now);

 private:
  int generation_ = 0;
  Clock::time_point next_at_{};
};

}  // namespace inboxd::consumer
