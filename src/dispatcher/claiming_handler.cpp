// InFlight as the claimer sees it: when and how much it claims, its leases, its suspects.
#include "dispatcher/claiming_handler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "dispatcher/in_flight.hpp"
#include "transaction/handler_transaction.hpp"

namespace inboxd::dispatcher {
namespace {

/// A claim asks for at most this part of the handler's room: the workers handle one claim's events during the next.
constexpr std::int64_t claims_in_flight = 2;

}  // namespace

bool InFlight::is_open() const {
  const std::lock_guard lock{mutex_};
  return takes();
}

void InFlight::set_isolated(bool isolated) { isolated ? close(Closed::isolation) : reopen(Closed::isolation); }

// ---- claims

InFlight::Clock::time_point InFlight::next_claim(Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  if (!takes()) return Clock::time_point::max();
  if (room() < 1) {
    wants_room_ = true;
    return now + poll_;
  }
  if (window_) return sequences_.lanes_to_read() ? now : next_window_work(now);
  if (backlog_ && room_is_enough()) return now;
  wants_room_ = backlog_;
  const auto retry = retries_.next();
  auto next = retry ? std::min(*retry, next_poll_) : next_poll_;
  if (order_ && (sequences_.lanes_to_read() || keys_.must_check())) return now;
  if (order_ && sequences_.any_to_read(now) && room_is_enough()) next = std::min(next, next_read_);
  return next;
}

std::optional<Claim> InFlight::begin_claim(Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  if (!takes()) return std::nullopt;
  if (window_) {  // all its events are of the sequence
    backlog_ = false;
    return std::nullopt;
  }
  const auto retry = retries_.next();
  const bool is_time = now >= next_poll_ || (retry && now >= *retry);
  const std::int64_t free = room();
  if (free < 1 || !(is_time || (backlog_ && room_is_enough()))) {
    wants_room_ = backlog_ || is_time;
    return std::nullopt;
  }
  wants_room_ = false;
  retries_.take_due(now);
  next_poll_ = now + poll_;
  // Without a backlog of fresh events, the claim leaves half of the room to those that ingest hands over meanwhile.
  const std::int64_t at_once = std::max((held() + free) / claims_in_flight, pace_.minimum());
  const std::int64_t half = std::max<std::int64_t>(free / 2, 1);
  claiming_ = !backlog_ ? half : std::min({free, at_once, only_retries_ ? half : free});
  claimed_lease_ = lease_;
  due_notices_before_ = due_notices_;
  const std::int64_t bytes = queue_.bytes() + reservations_.bytes();
  count();

  Claim out;
  out.max_crashes = max_crashes_;
  out.request.handler_id = handler_id_;
  out.request.lease = lease_;
  out.request.events = claiming_;
  out.request.bytes = static_cast<std::size_t>(std::max<std::int64_t>(budgets_->bytes.left_for(bytes), 1));
  out.request.slice =
      static_cast<int>(std::min<std::int64_t>(run_events_of(claiming_), std::numeric_limits<int>::max()));
  out.request.payloads = !needs_.no_payloads || events_per_call_ <= transaction::most_events_sent;
  return out;
}

void InFlight::end_claim(std::vector<inbox::LeasedRun> runs, Clock::time_point asked, bool more) {
  const auto loaded = load(std::move(runs));
  const std::lock_guard lock{mutex_};
  claiming_ = 0;
  for (const Loaded& each : loaded) add(each.run, each.bytes, asked + claimed_lease_);
  if (!takes()) queue_.release(0);
  // Events stored as due during the claim are few: the next poll takes them, while ingest hands over again. If they
  // counted as a backlog, a busy topic would never leave it.
  backlog_ = more;
  const auto is_retry = [](const Loaded& each) {
    return each.run->lease.attempts > 0 || each.run->lease.was_deferred;
  };
  only_retries_ = !loaded.empty() && std::all_of(loaded.begin(), loaded.end(), is_retry);
  if (wake_claimer_to_release()) backlog_ = true;  // claimed without payloads for a plugin that now wants them
  if (due_notices_ != due_notices_before_) next_poll_ = Clock::now();
  count();
}

void InFlight::claim_failed() {
  const std::lock_guard lock{mutex_};
  claiming_ = 0;
  count();
}

void InFlight::claim_again() {
  const std::lock_guard lock{mutex_};
  next_poll_ = Clock::now();
}

std::shared_ptr<settler::Run> InFlight::make_run(inbox::LeasedRun lease) { return run_of(std::move(lease)); }

/// Without the lock.
std::vector<InFlight::Loaded> InFlight::load(std::vector<inbox::LeasedRun> runs) {
  std::vector<Loaded> out;
  out.reserve(runs.size());
  for (inbox::LeasedRun& run : runs) {
    const std::int64_t bytes = bytes_of(run);
    detach_events(run, bytes);
    out.push_back({run_of(std::move(run)), bytes});
  }
  return out;
}

// ---- leases

InFlight::LeaseState InFlight::lease() const {
  const std::lock_guard lock{mutex_};
  return {lease_, queue_.events() > 0};
}

InFlight::Renewal InFlight::to_renew(Clock::time_point now) const {
  const std::lock_guard lock{mutex_};
  return {queue_.leases_ending_before(now + lease_ * 2 / 3), lease_};
}

void InFlight::renewed(const std::vector<std::shared_ptr<settler::Run>>& runs, Clock::time_point lease_end) {
  const std::lock_guard lock{mutex_};
  for (const auto& run : runs) queue_.renewed(*run, lease_end);
}

std::vector<inbox::LeaseKey> InFlight::take_released() {
  const std::lock_guard lock{mutex_};
  return queue_.take_released();
}

}  // namespace inboxd::dispatcher
