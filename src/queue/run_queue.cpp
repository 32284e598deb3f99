#include "queue/run_queue.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// A queue of more than this times the wanted length releases a run even if that leaves the queue too short.
constexpr std::int64_t much_too_long = 4;
/// Smaller blocks are not worth copying from.
constexpr std::size_t small_block = 64 * 1024;
/// A run is a small part of its block if the block is larger than this times the run.
constexpr std::size_t small_part = 8;

}  // namespace

std::int64_t bytes_of(const inbox::LeasedRun& run) {
  std::size_t bytes = 0;
  for (const event::Event* event : run.events) bytes += event::size_of(*event);
  return static_cast<std::int64_t>(bytes);
}

void detach_events(inbox::LeasedRun& run, std::int64_t bytes) {
  if (!run.block) return;
  const std::size_t block = run.block->arena.used() + run.block->events.size() * sizeof(event::Event);
  const auto mine = static_cast<std::size_t>(bytes);
  if (block < small_block || mine * small_part > block) return;
  const std::shared_ptr<inbox::EventBlock> own{new inbox::EventBlock{base::Arena{mine}, {}}};
  own->events.reserve(run.events.size());  // no reallocation: the run points to the events
  for (const event::Event*& event : run.events) {
    own->events.push_back(event::copy(*event, own->arena));
    event = &own->events.back();
  }
  run.block = own;
}

void RunQueue::add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end) {
  const auto events = static_cast<std::int64_t>(run->size());
  if (events == 0) return;
  queue_.push_back({run, 0, run->size()});
  run->leased_until = lease_end;
  const settler::Run* const key = run.get();
  const auto [at, is_new] = leases_.emplace(key, Lease{std::move(run), bytes, events, events, Leaving::no});
  queued_ += events;
  events_ += events;
  bytes_ += bytes;
  if (is_new && inbox::is_suspect(at->second.run->lease)) ++suspects_;
  if (lacks_content(at->second)) begin_leaving(at, Leaving::released);
}

std::vector<RunSlice> RunQueue::take(std::int64_t events, Clock::time_point now, bool whole) {
  std::vector<RunSlice> out;
  while (events > 0 && !queue_.empty()) {
    RunSlice& front = queue_.front();
    const auto at = leases_.find(front.run.get());
    if (at == leases_.end() || at->second.leaving != Leaving::no) {
      queue_.pop_front();
      continue;
    }
    if (at->second.end() <= now) {
      begin_leaving(at, Leaving::expired);
      continue;
    }
    const std::int64_t taken = whole ? front.size() : std::min(events, front.size());
    const std::size_t end = front.first + static_cast<std::size_t>(taken);
    out.push_back({front.run, front.first, end, front.one_by_one});
    front.first = end;
    at->second.queued -= taken;
    queued_ -= taken;
    events -= taken;
    if (front.first == front.end) queue_.pop_front();
  }
  return out;
}

void RunQueue::put_back(std::vector<RunSlice> slices) {
  for (auto slice = slices.rbegin(); slice != slices.rend(); ++slice) {
    if (returned(*slice->run, slice->size())) queue_.push_front(std::move(*slice));
  }
}

void RunQueue::taken(const settler::Run& run, std::int64_t events) {
  const auto at = leases_.find(&run);
  if (at == leases_.end()) return;
  at->second.queued -= events;
  queued_ -= events;
}

bool RunQueue::returned(const settler::Run& run, std::int64_t events) {
  const auto at = leases_.find(&run);
  if (at == leases_.end()) return false;
  if (at->second.leaving != Leaving::no) {
    give_up(at->second, events);
    erase_if_settled(at);
    return false;
  }
  at->second.queued += events;
  queued_ += events;
  return true;
}

void RunQueue::release_sequence(std::int32_t sequence) {
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto each = at++;  // begin_leaving may erase it
    if (each->second.run->lease.sequence == sequence && each->second.leaving == Leaving::no) {
      begin_leaving(each, Leaving::released);
    }
  }
  erase_leaving_slices();
}

void RunQueue::sequence_renewed(std::int32_t sequence, Clock::time_point lease_end) {
  for (auto& [key, lease] : leases_) {
    if (lease.run->lease.sequence == sequence) lease.run->leased_until = lease_end;
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
  erase_if_settled(at);
}

bool RunQueue::lost(const settler::Run& run, std::int64_t events) {
  const auto at = leases_.find(&run);
  if (at == leases_.end()) return false;
  const bool is_new = at->second.leaving != Leaving::lost;
  at->second.leaving = Leaving::lost;
  give_up(at->second, std::min(events, at->second.events - at->second.queued));
  begin_leaving(at, Leaving::lost);
  return is_new;
}

void RunQueue::erase(Leases::iterator at) {
  if (const auto& sequence = at->second.run->lease.sequence)
    left_.push_back({*sequence, at->second.run->lease.key.delivery_id});
  if (inbox::is_suspect(at->second.run->lease)) --suspects_;
  leases_.erase(at);
}

/// These events leave unsettled.
void RunQueue::give_up(Lease& lease, std::int64_t events) {
  const std::int64_t bytes = lease.events == 0 ? 0 : lease.bytes / lease.events * events;
  lease.bytes -= bytes;
  lease.events -= events;
  bytes_ -= bytes;
  events_ -= events;
  if (lease.leaving == Leaving::expired) expired_ += events;
  if (lease.leaving == Leaving::released) released_ += events;
}

void RunQueue::begin_leaving(Leases::iterator at, Leaving how) {
  Lease& lease = at->second;
  lease.leaving = how;
  const std::int64_t queued = std::exchange(lease.queued, 0);
  queued_ -= queued;
  if (queued_ == 0) queue_.clear();
  give_up(lease, queued);
  erase_if_settled(at);
}

void RunQueue::erase_if_settled(Leases::iterator at) {
  Lease& lease = at->second;
  if (lease.events > 0) return;
  // An expired lease is released too: unless another instance has claimed the delivery, no crash is charged to it.
  const bool is_ours = lease.leaving == Leaving::released || lease.leaving == Leaving::expired;
  if (is_ours) released_keys_.push_back(lease.run->lease.key);
  bytes_ -= lease.bytes;
  erase(at);
}

void RunQueue::release(std::int64_t keep) {
  // From the back of the queue, each queued run once.
  for (std::size_t i = queue_.size(); i-- > 0 && queued_ > keep;) {
    const auto at = leases_.find(queue_[i].run.get());
    if (at == leases_.end() || at->second.leaving != Leaving::no) continue;
    if (queued_ - at->second.queued < keep && queued_ <= much_too_long * keep) break;
    begin_leaving(at, Leaving::released);
  }
  erase_leaving_slices();
}

void RunQueue::want_content(bool wanted) {
  wants_content_ = wanted;
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto each = at++;  // begin_leaving may erase it
    if (lacks_content(each->second)) begin_leaving(each, Leaving::released);
  }
  erase_leaving_slices();
}

bool RunQueue::lacks_content(const Lease& lease) const {
  return wants_content_ && !lease.run->lease.has_content && lease.leaving == Leaving::no;
}

/// Slices of leaving runs would keep their events in memory.
void RunQueue::erase_leaving_slices() {
  std::erase_if(queue_, [this](const RunSlice& slice) {
    const auto at = leases_.find(slice.run.get());
    return at == leases_.end() || at->second.leaving != Leaving::no;
  });
}

std::vector<inbox::LeaseKey> RunQueue::take_released() { return std::exchange(released_keys_, {}); }

std::vector<std::shared_ptr<settler::Run>> RunQueue::leases_ending_before(Clock::time_point before) const {
  std::vector<std::shared_ptr<settler::Run>> out;
  for (const auto& [key, lease] : leases_) {
    if (lease.run->lease.sequence) continue;  // leased as long as its sequence
    const bool is_gone = lease.leaving == Leaving::expired || lease.leaving == Leaving::lost;
    if (lease.end() < before && !is_gone) out.push_back(lease.run);
  }
  return out;
}

void RunQueue::renewed(const settler::Run& run, Clock::time_point lease_end) {
  const auto at = leases_.find(&run);
  if (at == leases_.end()) return;
  at->second.run->leased_until = std::max(at->second.end(), lease_end);
}

}  // namespace inboxd::dispatcher
