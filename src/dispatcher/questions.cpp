// InFlight as the claimer asks it: its questions to the database by class, what the answers change, and its claims in
// no order. Those of a handler that keeps order: sequence_questions.cpp, batch_handler.cpp.
#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "dispatcher/in_flight.hpp"
#include "transaction/handler_transaction.hpp"

namespace inboxd::dispatcher {
namespace {

/// A claim asks for at most this part of the handler's room: the workers handle one claim's events during the next.
constexpr std::int64_t claims_in_flight = 2;
/// Rows that a claim looks at; doubled while that is too few.
constexpr int min_rows = 16;
constexpr int max_rows = 2'000;
/// A claim that returned this part of its bytes was cut short by them.
constexpr std::int64_t byte_bound_part = 2;
/// Between readings of the low-water mark, of an active and of an idle handler.
constexpr std::chrono::milliseconds reading_interval{1'000};
constexpr std::chrono::milliseconds idle_reading_interval{10'000};

}  // namespace

// ---- questions

template <std::size_t total>
std::optional<Request> InFlight::next_of(const std::array<Question, total>& questions, Class of,
                                         Clock::time_point now) {
  std::size_t& step = steps_[static_cast<std::size_t>(of)];
  while (step < total) {
    if (auto request = (this->*questions[step++])(now)) return request;
  }
  step = 0;
  return std::nullopt;
}

std::optional<Request> InFlight::next(Class of, Clock::time_point now) {
  static constexpr std::array<Question, 1> hold{&InFlight::write_hold};
  static constexpr std::array<Question, 2> limit{&InFlight::take_tokens, &InFlight::share_calls};
  static constexpr std::array<Question, 7> claims{&InFlight::read_due,    &InFlight::take_sequences,
                                                  &InFlight::read_lanes,  &InFlight::check_lanes,
                                                  &InFlight::turn_window, &InFlight::claim_in_order,
                                                  &InFlight::claim};
  const std::lock_guard lock{mutex_};
  switch (of) {
    case Class::lease:
      return next_lease(now);
    case Class::hold:
      return next_of(hold, of, now);
    case Class::limit:
      return next_of(limit, of, now);
    case Class::claim:
      return next_of(claims, of, now);
  }
  return std::nullopt;
}

InFlight::Clock::time_point InFlight::next_due(Class of, Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  switch (of) {
    case Class::lease:
      return keeper_.next_due(leases());
    case Class::hold:
      return hold_.news() ? now : Clock::time_point::max();
    case Class::limit:
      return next_limits();
    case Class::claim:
      return next_claim(now);
  }
  return now;
}

std::optional<WindowEnd> InFlight::answer(const Request& request, Answer answer, const Visit& visit) {
  std::vector<Loaded> runs;  // loaded without the lock
  auto* const claimed = std::get_if<Claim::Result>(&answer);
  if (claimed != nullptr) runs = load(std::move(claimed->claimed.runs));
  auto* const in_order = std::get_if<inbox::ClaimedInOrder>(&answer);
  if (in_order != nullptr) runs = load(std::move(in_order->claimed.runs));
  const std::lock_guard lock{mutex_};
  if (const auto* const failure = std::get_if<inbox::DatabaseFailure>(&answer)) {
    failed(request, *failure, visit);
  } else if (claimed != nullptr) {
    end_claim(std::get<Claim>(request).request, *claimed, runs, visit);
  } else if (in_order != nullptr) {
    return end_claim_in_order(*in_order, runs, visit);
  } else {
    std::visit(
        [&](const auto& question) {
          const auto& result = std::get<typename std::decay_t<decltype(question)>::Result>(answer);
          if constexpr (requires { keeper_.answered(leases(), question, result, visit); }) {
            keeper_.answered(leases(), question, result, visit);
            after_change();
          } else {
            answered(question, result, visit);
          }
        },
        request);
  }
  return std::nullopt;
}

/// A refused question does not hold up the others of its class. Without a connection, the visit ends.
void InFlight::failed(const Request& request, const inbox::DatabaseFailure& failure, const Visit& visit) {
  if (is_disconnected(failure)) steps_ = {};
  keeper_.failed(request, failure);
  const auto* const in_order = std::get_if<ClaimInOrder>(&request);
  if (in_order != nullptr) keeper_.lost_claim(in_order->request.claim.fence, visit.asked);
  const auto* const claim = std::get_if<Claim>(&request);
  if (claim != nullptr && is_disconnected(failure)) keeper_.lost_claim(claim->request.fence, visit.asked);
  if (in_order != nullptr || claim != nullptr) claiming_ = 0;
  count();
}

void InFlight::set_isolated(bool isolated) { isolated ? close(Closed::isolation) : reopen(Closed::isolation); }

// ---- leases

InFlight::LeaseState InFlight::lease() const {
  const std::lock_guard lock{mutex_};
  return {lease_, queue_.events() > 0};
}

std::optional<Request> InFlight::next_lease(Clock::time_point now) {
  auto out = keeper_.next(leases(), now);
  const auto* const released = out ? std::get_if<ReleaseSequences>(&*out) : nullptr;
  if (released == nullptr) return out;
  for (const inbox::SequenceKey& key : released->keys) keys_.forget(key.sequence);
  return out;
}

// ---- low-water mark

std::optional<Request> InFlight::read_due(Clock::time_point now) {
  if (now < next_reading_ || !takes()) return std::nullopt;
  return ReadDue{handler_id_, low_water_.reading_from(now), low_water_.asks_writers(now)};
}

void InFlight::answered(const ReadDue& /*question*/, const inbox::DueReading& reading, const Visit& visit) {
  low_water_.observe(reading, visit.asked, visit.came);
  claimer_->clock.observe(reading.now, visit.asked, visit.came);
  const bool is_busy = std::exchange(active_, false) || !low_water_.not_before();
  next_reading_ = visit.asked + (is_busy ? reading_interval : idle_reading_interval);
}

void InFlight::forget_low_water() {
  const std::lock_guard lock{mutex_};
  low_water_ = {};
}

// ---- claims

InFlight::Clock::time_point InFlight::next_claim(Clock::time_point now) {
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

std::optional<Request> InFlight::claim(Clock::time_point now) {
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
  due_notices_before_ = due_notices_;
  const std::int64_t bytes = queue_.bytes() + reservations_.bytes();
  count();

  Claim out;
  out.max_crashes = max_crashes_;
  out.request.handler_id = handler_id_;
  out.request.lease = lease_;
  out.request.events = claiming_;
  out.request.bytes = static_cast<std::size_t>(std::max<std::int64_t>(budgets_->bytes.left_for(bytes), 1));
  rows_ = std::max(rows_, min_rows);
  out.request.rows = static_cast<int>(std::min<std::int64_t>(rows_, claiming_));
  out.request.slice =
      static_cast<int>(std::min<std::int64_t>(run_events_of(claiming_), std::numeric_limits<int>::max()));
  out.request.payloads = !needs_.no_payloads || events_per_call_ <= transaction::most_events_sent;
  out.request.not_before = low_water_.not_before();
  return out;
}

void InFlight::end_claim(const inbox::ClaimRequest& request, const Claim::Result& result,
                         const std::vector<Loaded>& runs, const Visit& visit) {
  claiming_ = 0;
  keeper_.skip(result.claimed.empty);
  keeper_.release(result.claimed.excess);
  std::int64_t events = 0;
  std::int64_t bytes = 0;
  for (const Loaded& each : runs) {
    events += static_cast<std::int64_t>(each.run->size());
    bytes += each.bytes;
    add(each.run, each.bytes, visit.asked + request.lease);
  }
  if (!takes()) queue_.release(0);
  const bool is_full = events >= request.events;
  const int locked = result.claimed.rows_locked;
  // Events stored as due during the claim are few: the next poll takes them, while ingest hands over again. If they
  // counted as a backlog, a busy topic would never leave it.
  backlog_ = is_full || locked >= request.rows || result.found_crashed ||
             bytes * byte_bound_part >= static_cast<std::int64_t>(request.bytes);
  const auto is_retry = [](const Loaded& each) {
    return each.run->lease.attempts > 0 || each.run->lease.was_deferred;
  };
  only_retries_ = !runs.empty() && std::all_of(runs.begin(), runs.end(), is_retry);
  if (locked >= request.rows && !is_full && request.rows == rows_) {
    rows_ = std::min(rows_ * 2, max_rows);
  } else if (locked < rows_ / 4) {
    rows_ = std::max(rows_ / 2, min_rows);
  }
  if (wake_claimer_to_release()) backlog_ = true;  // claimed without payloads for a plugin that now wants them
  if (due_notices_ != due_notices_before_) next_poll_ = Clock::now();
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

}  // namespace inboxd::dispatcher
