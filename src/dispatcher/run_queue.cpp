#include "dispatcher/run_queue.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// A queue so many times longer than wanted gives back even the run that would leave it too short.
constexpr std::int64_t much_too_long = 4;

}  // namespace

void RunQueue::add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end) {
  const auto events = static_cast<std::int64_t>(run->size());
  if (events == 0) return;
  queue_.push_back({run, 0, run->size()});
  run->ours_until = lease_end;
  const settler::Run* const key = run.get();
  const auto [at, is_new] = leases_.emplace(key, Lease{std::move(run), lease_end, bytes, events, events, Leaving::no});
  queued_ += events;
  events_ += events;
  bytes_ += bytes;
  if (is_new && inbox::is_suspect(at->second.run->lease)) ++suspects_;
  if (is_of_no_use(at->second)) begin_leaving(at, Leaving::given_back);
}

std::vector<Piece> RunQueue::take(std::int64_t events, Clock::time_point now, bool whole) {
  std::vector<Piece> out;
  while (events > 0 && !queue_.empty()) {
    Piece& front = queue_.front();
    const auto at = leases_.find(front.run.get());
    if (at == leases_.end() || at->second.leaving != Leaving::no) {
      queue_.pop_front();
      continue;
    }
    if (at->second.end <= now) {
      begin_leaving(at, Leaving::expired);
      continue;
    }
    const std::int64_t taken = whole ? front.size() : std::min(events, front.size());
    const std::size_t end = front.first + static_cast<std::size_t>(taken);
    out.push_back({front.run, front.first, end, front.singly});
    front.first = end;
    at->second.queued -= taken;
    queued_ -= taken;
    events -= taken;
    if (front.first == front.end) queue_.pop_front();
  }
  return out;
}

void RunQueue::put_back(std::vector<Piece> pieces) {
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    const auto at = leases_.find(piece->run.get());
    if (at == leases_.end()) continue;
    const std::int64_t events = piece->size();
    if (at->second.leaving != Leaving::no) {
      let_go(at->second, events);
      end_if_at_rest(at);
      continue;
    }
    at->second.queued += events;
    queued_ += events;
    queue_.push_front(std::move(*piece));
  }
}

void RunQueue::settled(const settler::Run& run, std::int64_t events) {
  const auto at = leases_.find(&run);
  if (at == leases_.end()) return;
  assert(events <= at->second.events - at->second.queued);
  Lease& lease = at->second;
  const std::int64_t bytes = lease.bytes / lease.events * events;
  lease.bytes -= bytes;
  lease.events -= events;
  bytes_ -= bytes;
  events_ -= events;
  end_if_at_rest(at);
}

void RunQueue::lost(const settler::Run& run) {
  const auto at = leases_.find(&run);
  if (at == leases_.end()) return;
  queued_ -= at->second.queued;
  events_ -= at->second.events;
  bytes_ -= at->second.bytes;
  erase(at);
  if (queued_ == 0) queue_.clear();
}

void RunQueue::erase(Leases::iterator at) {
  if (inbox::is_suspect(at->second.run->lease)) --suspects_;
  leases_.erase(at);
}

/// Events that are no longer ours to handle, without having been settled.
void RunQueue::let_go(Lease& lease, std::int64_t events) {
  const std::int64_t bytes = lease.events == 0 ? 0 : lease.bytes / lease.events * events;
  lease.bytes -= bytes;
  lease.events -= events;
  bytes_ -= bytes;
  events_ -= events;
  (lease.leaving == Leaving::expired ? expired_ : given_back_) += events;
}

void RunQueue::begin_leaving(Leases::iterator at, Leaving how) {
  Lease& lease = at->second;
  lease.leaving = how;
  const std::int64_t queued = std::exchange(lease.queued, 0);
  queued_ -= queued;
  if (queued_ == 0) queue_.clear();
  let_go(lease, queued);
  end_if_at_rest(at);
}

void RunQueue::end_if_at_rest(Leases::iterator at) {
  Lease& lease = at->second;
  if (lease.events > 0) return;
  // Also where the lease has run out: unless somebody has taken it since, it was in hand at no unclean end.
  if (lease.leaving != Leaving::no) left_.push_back(lease.run->lease.key);
  bytes_ -= lease.bytes;
  erase(at);
}

void RunQueue::leave(std::int64_t keep) {
  // From the back, one look at each run that has something queued.
  for (std::size_t i = queue_.size(); i-- > 0 && queued_ > keep;) {
    const auto at = leases_.find(queue_[i].run.get());
    if (at == leases_.end() || at->second.leaving != Leaving::no) continue;
    if (queued_ - at->second.queued < keep && queued_ <= much_too_long * keep) break;
    begin_leaving(at, Leaving::given_back);
  }
  forget_pieces_of_leaving();
}

void RunQueue::want_content(bool wanted) {
  wants_content_ = wanted;
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto each = at++;  // one that nobody has begun is gone with it
    if (is_of_no_use(each->second)) begin_leaving(each, Leaving::given_back);
  }
  forget_pieces_of_leaving();
}

bool RunQueue::is_of_no_use(const Lease& lease) const {
  return wants_content_ && !lease.run->lease.has_content && lease.leaving == Leaving::no;
}

/// They would keep their events in memory.
void RunQueue::forget_pieces_of_leaving() {
  std::erase_if(queue_, [this](const Piece& piece) {
    const auto at = leases_.find(piece.run.get());
    return at == leases_.end() || at->second.leaving != Leaving::no;
  });
}

std::vector<inbox::LeaseKey> RunQueue::take_left() { return std::exchange(left_, {}); }

std::vector<std::shared_ptr<settler::Run>> RunQueue::ending_before(Clock::time_point before) const {
  std::vector<std::shared_ptr<settler::Run>> out;
  for (const auto& [key, lease] : leases_) {
    if (lease.end < before && lease.leaving != Leaving::expired) out.push_back(lease.run);
  }
  return out;
}

void RunQueue::renewed(const settler::Run& run, Clock::time_point lease_end) {
  const auto at = leases_.find(&run);
  if (at == leases_.end()) return;
  at->second.end = std::max(at->second.end, lease_end);
  at->second.run->ours_until = at->second.end;
}

}  // namespace inboxd::dispatcher
