#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "inbox/sequence.hpp"
#include "queue/key_table.hpp"
#include "settler/run.hpp"

namespace inboxd::dispatcher {

/// An event of a run.
struct Pick {
  std::shared_ptr<settler::Run> run;
  std::size_t index = 0;
  bool one_by_one = false;  ///< it must be called alone
};

/// Of two events of a key.
bool is_earlier(const Pick& a, const Pick& b);

/// An order key of a sequence. 0: none, the event runs in no order. Keys that share a number only wait for each other.
using OrderKey = std::uint64_t;
OrderKey order_key(std::int32_t sequence, envelope::KeyHash hash);
OrderKey order_key_of(const settler::Run& run, std::size_t index);

/// Keeps the events of each order key of a sequential handler in order: which of them a worker may take, and which
/// wait.
///
///   free --take--> taken --settled--> free, or the key's next event is ready
///                    |  `-- further events of the key are deferred, in memory
///                    `--settled as a failure--> blocked or parked: further events move to the lane
///
/// A key that is blocked has pending events in its lane in the database, which are claimed as runs of the lane. A lane
/// that was read or claimed blocks its key, too; once the database has nothing more in the lane, the key is free again.
/// A slow key with too many events in memory becomes blocked without a failure, so that others have room.
///
/// An event moves to the lane only after all earlier events of its key are recorded or in the lane: the lane never has
/// an event without the earlier events of its key, whenever the process may crash. Bookkeeping without lock or clock.
class KeyOrder final {
 public:
  /// The call that an event would be part of, never 0. Events of a key share a call if their outcomes are recorded
  /// together: events of a single run or, in a transaction, of any runs. Otherwise a crash could leave the outcome of a
  /// later event without the outcome of an earlier event.
  using Call = std::uint64_t;

  /// Whether the event may be taken for that call; it counts as taken then. Otherwise it is deferred, or moves to the
  /// lane.
  bool take(const Pick& pick, Call call, bool in_transaction = false);
  /// Events of the next key that became free, at most `most`, all for a single call. They count as taken.
  std::vector<Pick> take_ready(std::size_t most, Call call, bool in_transaction = false);
  bool any_ready() const { return !ready_.empty(); }

  /// Events that leave memory because their key is blocked or parked: to report to the settler.
  std::vector<settler::Report> take_behind();
  bool any_behind() const { return !sendable_.empty(); }
  /// Events that wait for the outcome of others of their key.
  std::size_t deferred() const { return deferred_events_; }

  /// Taken events that were not called, in order: they come first again.
  void put_back(const std::vector<Pick>& picks);
  /// `was_taken`: false for an event that was dead before any worker could take it.
  void settled(const settler::Run& run, const settler::KeyEffects& effects, bool was_taken = true);

  /// Blocks a key: a lane of the database, or a claimed lane.
  void block(const inbox::Lane& lane);
  /// Blocked and parked keys to compare with the database: keys that may be free by now; `others`: then others in turn.
  std::vector<inbox::Lane> to_check(std::size_t most, bool others);
  bool must_check() const { return !to_check_.empty(); }
  /// Their present state. It counts unless they changed in memory since.
  void checked(const std::vector<inbox::Lane>& lanes);
  /// Blocks each free key with more than `least` events deferred, if fewer of them were taken since the last look.
  void block_slow_keys(std::size_t least);

  /// Forgets a sequence, whose events leave memory.
  void forget(std::int32_t sequence);

  std::size_t blocked_keys() const { return blocked_.size(); }

 private:
  /// A key with events that are taken by workers, deferred, or on their way to the lane.
  struct Active {
    std::int32_t sequence = 0;
    std::uint32_t taken = 0;
    Call call = 0;                      ///< of the events taken last; 0: no event may join them
    const settler::Run* run = nullptr;  ///< of the events taken last
    std::uint32_t taken_of_lane = 0;    ///< of `taken`
    bool has_deferred = false;          ///< in deferred_
  };
  struct Deferred {
    std::deque<Pick> calls;   ///< to be taken, in order
    std::deque<Pick> behind;  ///< to move to the lane, in order
    std::size_t sent = 0;     ///< events on their way to the lane, all of the same run
    const settler::Run* sent_run = nullptr;
    bool is_sendable = false;          ///< in sendable_
    std::optional<std::size_t> taken;  ///< since the last look for slow keys; nullopt: it has not seen the key
    bool empty() const { return calls.empty() && behind.empty() && sent == 0; }
  };
  struct Blocked {
    std::int32_t sequence = 0;
    std::int64_t lane = 0;
    bool is_parked = false;
    bool is_queued = false;  ///< in to_check_
    std::uint32_t changes = 0;
    std::uint32_t checked_at = 0;  ///< `changes` when the database was asked
  };

  void prefetch(const settler::Run& run, std::size_t index) const;
  Deferred& defer(OrderKey key, Active& active, const Pick& pick);
  void release(OrderKey key, const settler::Run& run, std::size_t events);
  void refresh(OrderKey key, Active& active);

  bool goes_behind(const Pick& pick, OrderKey key) const;
  static bool may_send(const Active& active, const Deferred& deferred);
  void send_if_possible(OrderKey key, const Active& active, Deferred& deferred);
  void send(OrderKey key, Deferred& deferred, std::vector<settler::Report>& out);
  void was_sent(const settler::Run& run, std::size_t index, std::size_t taken);
  void reconsider(OrderKey key);
  Blocked& block_key(OrderKey key, std::int32_t sequence, std::int64_t lane);
  void note_blocking(const settler::Run& run, std::size_t index, bool is_parked, std::size_t taken);
  void check_soon(OrderKey key);

  KeyTable<Active> active_;
  std::unordered_map<OrderKey, Deferred> deferred_;  ///< of few keys: keys with several events at once
  std::unordered_map<OrderKey, Blocked> blocked_;
  std::deque<OrderKey> ready_;     ///< keys with events to call and none taken
  std::deque<OrderKey> sendable_;  ///< keys with events that may move to the lane now
  std::size_t deferred_events_ = 0;
  std::deque<OrderKey> to_check_;
  std::size_t next_bucket_ = 0;  ///< of blocked_, for the keys that are checked in turn
};

}  // namespace inboxd::dispatcher
