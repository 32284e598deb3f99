#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inbox/claim.hpp"
#include "settler/run.hpp"

namespace inboxd::dispatcher {

/// Events [first, end) of a run's `events`.
struct RunSlice {
  std::shared_ptr<settler::Run> run;
  std::size_t first = 0;
  std::size_t end = 0;
  /// A call with these events took too long. Each is now called alone, which shows the slow event.
  bool one_by_one = false;
  /// In a sequence: a call begins here, so that two events of a key are not in two calls of a batch.
  bool begins_call = false;
  std::int64_t size() const { return static_cast<std::int64_t>(end - first); }
};

/// The memory that the run's events take.
std::int64_t bytes_of(const inbox::LeasedRun& run);

/// Copies the events of a run that is a small part of its batch. Otherwise a slow event would keep the whole batch in
/// memory, uncounted.
void detach_events(inbox::LeasedRun& run, std::int64_t bytes);

/// The runs that a handler has in flight, from lease to last settlement, and the queue of the events that no worker has
/// taken yet. Bookkeeping without lock or clock.
class RunQueue {
 public:
  using Clock = std::chrono::steady_clock;

  /// `lease_end`: counted from before the lease was asked for, so the lease really ends no earlier.
  void add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end);

  /// The next events, oldest run first. Leaves out lost and released runs, and drops runs with an expired lease.
  /// `whole`: a slice is not cut, so that a run stays with its worker; the result may then exceed `events`.
  std::vector<RunSlice> take(std::int64_t events, Clock::time_point now, bool whole = false);
  /// Events that a worker took and did not call: back to the front of the queue.
  void put_back(std::vector<RunSlice> slices);

  // Runs of sequences: the caller decides which events are taken.

  /// Removes the first slice whose run is allowed; nullopt: none. Its events stay queued until `taken`. Drops runs with
  /// an expired lease, as `take` does.
  template <class Allowed>
  std::optional<RunSlice> next_slice(Clock::time_point now, Allowed&& allowed);
  void push_front(RunSlice slice) { queue_.push_front(std::move(slice)); }
  bool any_slice() const { return !queue_.empty(); }
  void taken(const settler::Run& run, std::int64_t events);
  /// The reverse of `taken`. False: the run is leaving or gone, and so are the events.
  bool returned(const settler::Run& run, std::int64_t events);
  void release_sequence(std::int32_t sequence);
  void sequence_renewed(std::int32_t sequence, Clock::time_point lease_end);
  /// A run of a sequence that left memory.
  struct Left {
    std::int32_t sequence = 0;
    std::int64_t delivery_id = 0;
  };
  std::vector<Left> take_left() { return std::exchange(left_, {}); }
  bool holds(const settler::Run& run) const { return leases_.contains(&run); }

  void settled(const settler::Run& run, std::int64_t events);
  /// The run's queued events and `events` of the taken events leave memory. The others follow as they are put back or
  /// reported: until then they may be in a call. False: the run was lost before, or is gone.
  bool lost(const settler::Run& run, std::int64_t events);

  /// `wanted`: the handler needs payloads and headers. Runs without them are released, now and when they are added.
  void want_content(bool wanted);

  /// Releases runs, youngest first, until about `keep` events are queued. A run that a worker has begun is released
  /// once the events taken are settled or put back.
  void release(std::int64_t keep);
  /// The keys of the runs released since the last call; the caller releases them in the database.
  std::vector<inbox::LeaseKey> take_released();
  std::size_t released_runs() const { return released_keys_.size(); }

  std::vector<std::shared_ptr<settler::Run>> leases_ending_before(Clock::time_point before) const;
  void renewed(const settler::Run& run, Clock::time_point lease_end);

  std::int64_t queued() const { return queued_; }  ///< events that no worker has taken
  std::int64_t events() const { return events_; }  ///< in flight: queued, with a worker or not settled yet
  std::int64_t bytes() const { return bytes_; }
  std::size_t runs() const { return leases_.size(); }
  std::int64_t suspects() const { return suspects_; }  ///< of the runs
  /// Events dropped before their call because the lease had expired.
  std::int64_t expired() const { return expired_; }
  std::int64_t released() const { return released_; }

 private:
  enum class Leaving { no, released, expired, lost };
  struct Lease {
    Clock::time_point end() const { return run->leased_until; }
    std::shared_ptr<settler::Run> run;
    std::int64_t bytes = 0;   ///< of `events`
    std::int64_t events = 0;  ///< still ours and not settled
    std::int64_t queued = 0;
    Leaving leaving = Leaving::no;
  };
  using Leases = std::unordered_map<const settler::Run*, Lease>;

  void give_up(Lease& lease, std::int64_t events);
  void begin_leaving(Leases::iterator at, Leaving how);
  void erase_if_settled(Leases::iterator at);
  void erase(Leases::iterator at);
  bool lacks_content(const Lease& lease) const;
  void erase_leaving_slices();

  Leases leases_;
  std::deque<RunSlice> queue_;  ///< may hold slices of runs that are gone; `take` skips them
  std::vector<inbox::LeaseKey> released_keys_;
  std::vector<Left> left_;
  std::int64_t queued_ = 0;
  std::int64_t events_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t suspects_ = 0;
  std::int64_t expired_ = 0;
  std::int64_t released_ = 0;
  bool wants_content_ = false;
};

template <class Allowed>
std::optional<RunSlice> RunQueue::next_slice(Clock::time_point now, Allowed&& allowed) {
  for (auto at = queue_.begin(); at != queue_.end();) {
    const auto lease = leases_.find(at->run.get());
    if (lease == leases_.end() || lease->second.leaving != Leaving::no) {
      at = queue_.erase(at);
      continue;
    }
    if (lease->second.end() <= now) {
      begin_leaving(lease, Leaving::expired);
      at = queue_.begin();  // the queue may have become empty
      continue;
    }
    if (allowed(*at->run)) {
      RunSlice out = std::move(*at);
      queue_.erase(at);
      return out;
    }
    ++at;
  }
  return std::nullopt;
}

}  // namespace inboxd::dispatcher
