#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "inbox/sequence.hpp"

namespace inboxd::dispatcher {

/// A place in a partition's log: all below it is stored.
struct LogPosition {
  std::int32_t epoch = 0;
  std::int64_t next_offset = -1;
  bool operator==(const LogPosition&) const = default;
};

/// The sequences of a handler that this process owns, and which of them may be claimed from, be born leased, or must be
/// released.
///
///   taken --lanes known--> reading <--> caught up
///     `--------------------- any ---------------> draining --no run left in memory--> released
///
/// `caught up`: all deliveries below `taken_to` are in memory or settled, so that the next batch of the partition may
/// be born leased. `draining`: its queued events have left memory and its running calls end; nothing is claimed.
/// Bookkeeping without lock or clock.
class Sequences final {
 public:
  using Clock = std::chrono::steady_clock;

  enum class State { taken, reading, caught_up, draining };

  // ---- ownership

  void assigned(std::int32_t shard_id) { assigned_.insert(shard_id); }
  void revoked(std::int32_t shard_id);
  /// The sequences that a handler keeps order in: none, a sequence for each shard, or a single sequence for everything.
  /// A change drains all.
  enum class Scope { none, shard, handler };
  void use(Scope scope);
  bool are_used() const { return scope_ != Scope::none; }

  /// Sequences that this process should own and does not.
  std::vector<std::int32_t> wanted() const;
  /// `handlers`: of this process; many search more rarely.
  bool looks_for_orphans(Clock::time_point now, int handlers = 1);
  /// The first search does not wait: this process is the successor of an owner that has gone.
  void look_for_orphans_at_once() { next_search_ = Clock::time_point::min(); }
  void took(const std::vector<std::int32_t>& sequences, std::int64_t fence, Clock::time_point lease_end);
  std::vector<inbox::SequenceKey> owned() const;
  /// The sequences whose lanes may be claimed.
  std::vector<inbox::SequenceKey> with_lanes() const;
  /// `asked`: all that were to be renewed; sequences not in `renewed` are lost.
  void renewed(const std::vector<inbox::SequenceKey>& asked, const std::vector<inbox::RenewedSequence>& renewed,
               Clock::time_point lease_end);
  Clock::time_point lease_end(std::int32_t sequence) const;

  /// Begins to drain, unless it does already: another instance wants it, or its memory or leases are in doubt.
  void drain(std::int32_t sequence);
  void drain_all();
  /// Drains sequences whose lease has ended.
  void drain_overdue(Clock::time_point now);
  /// Sequences that began to drain since the last call: their queued runs must leave memory.
  std::vector<std::int32_t> take_begun_drains();
  /// Drained sequences, which have no run in memory: to release in the database, and perhaps to take again.
  std::vector<inbox::SequenceKey> take_drained();

  // ---- reading

  /// The next sequence whose lanes are to be read, from a hash on.
  struct LanesFrom {
    std::int32_t sequence = 0;
    std::int64_t after = 0;
  };
  std::optional<LanesFrom> lanes_to_read() const;
  void lanes_read(std::int32_t sequence, std::int64_t last, bool is_complete);

  /// The next readings are from the start.
  void sweep();
  bool any_to_read(Clock::time_point now) const;
  std::vector<inbox::SequenceToRead> to_read(Clock::time_point now);
  /// The state of a sequence after a claim; before it, `claimed` was called for its runs.
  void read(const inbox::SequenceRead& read);
  void claimed(const inbox::LeasedRun& run);
  /// A run has left memory. True: the sequence waited for it, and can be read again.
  bool run_left(std::int32_t sequence, std::int64_t delivery_id);
  /// It drains, and no run of it is left in memory.
  bool is_drained(std::int32_t sequence) const;
  bool may_run(std::int32_t sequence) const;
  bool any_caught_up() const;
  /// A suspect is in memory: nothing else may be claimed.
  bool is_alone(std::int32_t sequence) const;
  /// 0: not owned.
  std::int64_t fence(std::int32_t sequence) const;

  // ---- ingest

  /// Whether the next batch of a shard, stored from this position on, may be born leased under that fence.
  struct Reservation {
    bool may_be_leased = false;
    std::int64_t fence = 0;
  };
  /// The sequence is owned, and everything before that position is in memory.
  bool has_all_before(std::int32_t sequence, LogPosition expected) const;
  /// nullopt: the sequence is not owned. Otherwise `end_reservation` must follow.
  std::optional<Reservation> reserve(std::int32_t sequence, LogPosition expected);
  /// Ends it. `next`: the position after the batch. `is_in_memory`: it is stored, and all its deliveries are in memory.
  void end_reservation(std::int32_t sequence, LogPosition expected, LogPosition next, bool is_in_memory);

  std::size_t count() const { return owned_.size(); }

 private:
  struct Sequence {
    std::int64_t fence = 0;
    std::optional<std::int64_t> changed_fence{};  ///< in the database since; it is released under that
    Clock::time_point lease_end{};
    State state = State::taken;
    std::int64_t lanes_after = std::numeric_limits<std::int64_t>::min();
    std::int64_t mark = -1;
    std::int64_t mark_offset = -1;
    LogPosition taken_to{};
    int runs = 0;       ///< in memory
    int reserving = 0;  ///< batches that are being stored
    int strange_leases = 0;
    std::set<std::int64_t> suspects{};  ///< deliveries in memory: nothing else is claimed
    Clock::time_point next_sweep{};
  };
  static bool is_allowed(State from, State to);
  static void change(Sequence& sequence, State to);
  static bool may_read(const Sequence& sequence);

  std::map<std::int32_t, Sequence> owned_;
  std::set<std::int32_t> assigned_;
  std::vector<std::int32_t> begun_drains_;
  Scope scope_ = Scope::shard;
  Clock::time_point next_search_{};
  std::size_t turn_ = 0;
};

}  // namespace inboxd::dispatcher
