// InFlight as the claimer asks it: its questions to the database by class, what the answers change, and its claims in
// no order. Those of a handler that keeps order: sequence_questions.cpp, batch_handler.cpp.
#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "dispatcher/in_flight.hpp"

namespace inboxd::dispatcher {
namespace {

/// A claim that returned this part of its bytes was cut short by them.
constexpr std::int64_t byte_bound_part = 2;

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
      return admission_.hold().news() ? now : Clock::time_point::max();
    case Class::limit:
      return admission_.next_limits();
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
  if (in_order != nullptr || claim != nullptr) room_.claim(0);
  count();
}

std::optional<Request> InFlight::last_request() {
  const std::lock_guard lock{mutex_};
  return admission_.release_calls(handler_id_);
}

// ---- pauses and limits

std::optional<Request> InFlight::write_hold(Clock::time_point /*now*/) { return admission_.write_hold(handler_id_); }

void InFlight::answered(const WriteHold& question, std::monostate /*result*/, const Visit& /*visit*/) {
  admission_.written(question.news);
}

std::optional<Request> InFlight::take_tokens(Clock::time_point now) { return admission_.take_tokens(handler_id_, now); }

void InFlight::answered(const TakeTokens& /*question*/, const inbox::Tokens& tokens, const Visit& visit) {
  apply(admission_.granted(tokens, visit.asked));
}

std::optional<Request> InFlight::share_calls(Clock::time_point now) {
  return admission_.share_calls(handler_id_, static_cast<int>(std::min<std::int64_t>(queue_.queued(), idle_workers_)),
                                now);
}

void InFlight::answered(const ShareCalls& /*question*/, int calls, const Visit& visit) {
  apply(admission_.granted(calls, visit.asked));
}

// ---- leases

InFlight::LeaseState InFlight::lease() const {
  const std::lock_guard lock{mutex_};
  return {settings_.lease, queue_.events() > 0};
}

std::optional<Request> InFlight::next_lease(Clock::time_point now) {
  auto out = keeper_.next(leases(), now);
  const auto* const released = out ? std::get_if<ReleaseSequences>(&*out) : nullptr;
  if (released == nullptr) return out;
  for (const inbox::SequenceKey& key : released->keys) feed_.forget(key.sequence);
  return out;
}

// ---- low-water mark

std::optional<Request> InFlight::read_due(Clock::time_point now) {
  if (!takes() || !readings_.is_due(now)) return std::nullopt;
  return ReadDue{handler_id_, readings_.mark().reading_from(now), readings_.mark().asks_writers(now)};
}

void InFlight::answered(const ReadDue& /*question*/, const inbox::DueReading& reading, const Visit& visit) {
  readings_.observe(reading, visit.asked, visit.came);
  claimer_->clock.observe(reading.now, visit.asked, visit.came);
}

void InFlight::forget_low_water() {
  const std::lock_guard lock{mutex_};
  readings_.forget();
}

// ---- claims

InFlight::Clock::time_point InFlight::next_claim(Clock::time_point now) {
  if (!takes()) return Clock::time_point::max();
  if (free_room() < 1) {
    wants_room_ = true;
    return now + poll_;
  }
  if (feed_.has_window()) return sequences_.lanes_to_read() ? now : next_window_work(now);
  if (due_.has_backlog() && has_room_for_claim()) return now;
  wants_room_ = due_.has_backlog();
  if (settings_.order && (sequences_.lanes_to_read() || feed_.must_check())) return now;
  if (settings_.order && sequences_.any_to_read(now) && has_room_for_claim()) return std::min(due_.next(), next_read_);
  return due_.next();
}

std::optional<Request> InFlight::claim(Clock::time_point now) {
  if (!takes()) return std::nullopt;
  if (feed_.has_window()) {  // all its events are of the sequence
    due_.set_backlog(false);
    return std::nullopt;
  }
  const bool is_time = now >= due_.next();
  const std::int64_t free = free_room();
  if (free < 1 || !(is_time || (due_.has_backlog() && has_room_for_claim()))) {
    wants_room_ = due_.has_backlog() || is_time;
    return std::nullopt;
  }
  wants_room_ = false;
  const std::int64_t events = due_.begin(now, free, room_.held(queue_), room_.pace().minimum());
  room_.claim(events);
  count();
  Claim out;
  out.max_crashes = settings_.max_crashes;
  out.request.handler_id = handler_id_;
  out.request.lease = settings_.lease;
  out.request.events = events;
  out.request.bytes = room_.bytes_to_claim(queue_);
  out.request.rows = due_.rows(events);
  out.request.slice =
      static_cast<int>(std::min<std::int64_t>(run_events_of(events), std::numeric_limits<int>::max()));
  out.request.payloads = settings_.reads_payloads();
  out.request.not_before = readings_.mark().not_before();
  return out;
}

void InFlight::end_claim(const inbox::ClaimRequest& request, const Claim::Result& result,
                         const std::vector<Loaded>& runs, const Visit& visit) {
  room_.claim(0);
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
  const auto is_retry = [](const Loaded& each) {
    return each.run->lease.attempts > 0 || each.run->lease.was_deferred;
  };
  const bool is_cut = bytes * byte_bound_part >= static_cast<std::int64_t>(request.bytes);
  due_.end({events >= request.events, request.rows, result.claimed.rows_locked, result.found_crashed || is_cut,
            !runs.empty() && std::all_of(runs.begin(), runs.end(), is_retry)},
           Clock::now());
  if (wake_claimer_to_release()) due_.set_backlog(true);  // claimed without payloads for a plugin that now wants them
  count();
}

void InFlight::claim_again() {
  const std::lock_guard lock{mutex_};
  due_.poll_at(Clock::now());
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
