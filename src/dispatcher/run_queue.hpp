#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "inbox/claim.hpp"
#include "settler/run.hpp"

namespace inboxd::dispatcher {

/// Events [first, end) of a run's `events`.
struct Piece {
  std::shared_ptr<settler::Run> run;
  std::size_t first = 0;
  std::size_t end = 0;
  /// They were in one call that took too long: each is called alone, so that it shows whose doing that was.
  bool singly = false;
  std::int64_t size() const { return static_cast<std::int64_t>(end - first); }
};

/// The runs that one handler has in hand, from their lease to their last settlement, and the queue of those events that
/// no worker has taken yet. Pure bookkeeping: no lock, no clock of its own.
class RunQueue {
 public:
  using Clock = std::chrono::steady_clock;

  /// A run whose lease lasts until then for certain (counted from before it was asked for).
  void add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end);

  /// The next events, oldest run first; leaves out runs that are lost or leave, and drops those whose lease has
  /// certainly run out.
  /// `whole`: no piece is cut, so that a run stays with one worker; there may then be more than `events`.
  std::vector<Piece> take(std::int64_t events, Clock::time_point now, bool whole = false);
  /// What a worker did not come to: to the front again, for another one.
  void put_back(std::vector<Piece> pieces);

  void settled(const settler::Run& run, std::int64_t events);
  void lost(const settler::Run& run);

  /// Whether events are of use only with payload and headers: then runs that left them in the database are given back,
  /// those that come later, too.
  void want_content(bool wanted);

  /// Gives runs back, the last ones first, until about `keep` events are queued. Those that a worker has begun leave
  /// when what it has is settled.
  void leave(std::int64_t keep);
  /// The keys of runs that have left since the last time: they are to be given back in the database.
  std::vector<inbox::LeaseKey> take_left();
  bool any_left() const { return !left_.empty(); }

  /// Runs whose lease ends before `before`.
  std::vector<std::shared_ptr<settler::Run>> ending_before(Clock::time_point before) const;
  void renewed(const settler::Run& run, Clock::time_point lease_end);

  std::int64_t queued() const { return queued_; }   ///< events no worker has taken
  std::int64_t events() const { return events_; }   ///< in hand: queued, with a worker or not settled yet
  std::int64_t bytes() const { return bytes_; }
  std::size_t runs() const { return leases_.size(); }
  std::int64_t suspects() const { return suspects_; }  ///< of the runs
  /// Events dropped because the lease had run out before a worker came to them.
  std::int64_t expired() const { return expired_; }
  std::int64_t given_back() const { return given_back_; }

 private:
  enum class Leaving { no, given_back, expired };
  struct Lease {
    std::shared_ptr<settler::Run> run;
    Clock::time_point end;
    std::int64_t bytes = 0;                    ///< of the events that are still ours
    std::int64_t events = 0;                   ///< still ours and not settled
    std::int64_t queued = 0;
    Leaving leaving = Leaving::no;
  };
  using Leases = std::unordered_map<const settler::Run*, Lease>;

  void let_go(Lease& lease, std::int64_t events);
  void begin_leaving(Leases::iterator at, Leaving how);
  void end_if_at_rest(Leases::iterator at);
  void erase(Leases::iterator at);
  bool is_of_no_use(const Lease& lease) const;
  void forget_pieces_of_leaving();

  Leases leases_;
  std::deque<Piece> queue_;                    ///< also pieces of runs that are gone: skipped by take
  std::vector<inbox::LeaseKey> left_;
  std::int64_t queued_ = 0;
  std::int64_t events_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t suspects_ = 0;
  std::int64_t expired_ = 0;
  std::int64_t given_back_ = 0;
  bool wants_content_ = false;
};

}  // namespace inboxd::dispatcher
