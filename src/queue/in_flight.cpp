#include "queue/in_flight.hpp"

#include <algorithm>
#include <utility>

#include "base/mutex.hpp"
#include "queue/early_events.hpp"
#include "queue/expiry.hpp"

namespace inboxd::dispatcher {

// ---- the lock

/// Tells other threads of a change.
void InFlight::end_change() {
  const Wakes wakes = queue_.end_change(Clock::now());
  const HandlerState& state = queue_.state();
  calls_stopped_.store(state.admission.hold().state() == Hold::State::held, std::memory_order_relaxed);
  has_counted_failures_.store(state.admission.hold().has_failures(), std::memory_order_relaxed);
  const std::int64_t new_suspects = state.queue.suspects() - std::exchange(suspects_, state.queue.suspects());
  const bool is_last = new_suspects != 0 && (claimer_->suspects += new_suspects) == 0;
  if (wakes.claimer || is_last) claimer_->wake.notify();
  if (wakes.workers == 0 && !wakes.all_workers) return;
  ++work_changes_;
  if (wakes.all_workers || wakes.workers >= idle_workers_) return work_.notify_all();
  for (int i = 0; i < wakes.workers; ++i) work_.notify_one();
}

std::string InFlight::handler() const {
  const base::Lock lock{mutex_};
  return queue_.state().settings.name;
}

void InFlight::close(Closed reason) {
  lock()->admit([&](Admission& admission) { return admission.close(reason); });
}

void InFlight::reopen(Closed reason) {
  lock()->admit([&](Admission& admission) { return admission.reopen(reason); });
}

void InFlight::configure(const config::Handler& settings, plugin::Instance::Needs needs) {
  const Locked queue{*this};
  queue->configure(settings, needs, queue.now);
  counts_calls_ = settings.fuse_failures > 0;
}

// ---- ingest

consumer::HandOff::Reservation InFlight::reserve(std::int64_t events, std::size_t bytes) {
  const Locked queue{*this};
  return queue->reserve(events, bytes, queue.now);
}

void InFlight::hand_over(inbox::LeasedRun run, std::int64_t reserved) {
  HandlerQueue::Loaded loaded{nullptr, bytes_of(run)};
  try {
    detach_events(run, loaded.bytes);
    loaded.run = make_run(std::move(run));
  } catch (...) {
    lock()->release(reserved);
    throw;
  }
  const Locked queue{*this};
  queue->hand_over(std::move(loaded), reserved, queue.now);
}

std::int64_t InFlight::events_in(std::chrono::milliseconds time) const {
  const base::Lock lock{mutex_};
  const Pace& pace = queue_.state().room.pace();
  const double events = pace.per_second() * std::chrono::duration<double>{time}.count();
  return std::max(pace.minimum(), static_cast<std::int64_t>(events));
}

// ---- pauses for all instances

template <class Change>
void InFlight::change_hold(Change&& change) {
  lock()->admit([&](Admission& admission) { return admission.change_hold(change); });
}

void InFlight::set_hold(inbox::HandlerHold::State state) {
  change_hold([&](Hold& hold) { hold.read(state); });
}

bool InFlight::may_try() const {
  const base::Lock lock{mutex_};
  return queue_.state().admission.may_try();
}

void InFlight::pause(const std::string& reason) {
  change_hold([&](Hold& hold) { hold.pause(reason); });
}

void InFlight::recorded(std::int64_t done, std::int64_t failed, const std::string& error_class) {
  change_hold([&](Hold& hold) { hold.recorded(done, failed, error_class); });
}

void InFlight::called(const CallCount& count) {
  if (!counts_calls_ || (count.failed == 0 && !has_counted_failures_)) return;  // saves the lock
  change_hold([&](Hold& hold) { hold.called(count.done, count.failed, count.error_class); });
}

// ---- the claimer

std::optional<Request> InFlight::next(Class of, Clock::time_point now) {
  const base::Lock lock{mutex_};
  auto request = queue_.next(of, now, idle_workers_);
  end_change();
  return request;
}

std::optional<WindowEnd> InFlight::answer(const Request& request, Answer answer, const Visit& visit) {
  if (const auto* const reading = std::get_if<inbox::DueReading>(&answer)) {
    claimer_->clock.observe(reading->now, visit.came);
  }
  const auto runs = load(answer);
  return lock()->answer(request, answer, runs, visit);
}

InFlight::LeaseState InFlight::lease() const {
  const base::Lock lock{mutex_};
  return {queue_.state().settings.lease, queue_.state().queue.events() > 0};
}

std::shared_ptr<settler::Run> InFlight::make_run(inbox::LeasedRun lease) {
  base::Lock lock{mutex_};
  const Settings& settings = queue_.state().settings;
  auto run = std::make_shared<settler::Run>(std::move(lease), settings.policy, shared_from_this(), settings.name);
  const auto order = settings.order;
  lock.unlock();
  if (run->lease.sequence) set_keys(*run, order.get());
  return run;
}

/// The runs of an answer.
std::vector<HandlerQueue::Loaded> InFlight::load(Answer& answer) {
  std::vector<inbox::LeasedRun> leases;
  if (auto* const claimed = std::get_if<Claim::Result>(&answer)) leases = std::move(claimed->claimed.runs);
  if (auto* const claimed = std::get_if<inbox::ClaimedInOrder>(&answer)) leases = std::move(claimed->claimed.runs);
  std::vector<HandlerQueue::Loaded> out;
  out.reserve(leases.size());
  for (inbox::LeasedRun& lease : leases) {
    const std::int64_t bytes = bytes_of(lease);
    detach_events(lease, bytes);
    out.push_back({make_run(std::move(lease)), bytes});
  }
  return out;
}

// ---- workers

InFlight::Taken InFlight::take(const std::atomic<bool>& stop, Work done, int workers) {
  Taken out = next_work(stop, done, workers);
  const event::Microseconds time = now();
  std::int64_t events = 0;
  const auto report = [&](std::vector<settler::Report> reports) {
    for (settler::Report& each : reports) {
      events += static_cast<std::int64_t>(each.end - each.first);
      out.uncalled.push_back(std::move(each));
    }
  };
  report(take_out_expired(out.slices, time));
  EarlyEvents early = take_out_early(out.slices, time);
  report(std::move(early.reports));
  put_back(std::move(early.put_back));
  if (events > 0) lock()->not_called(events, out.slices.empty());
  return out;
}

InFlight::Taken InFlight::next_work(const std::atomic<bool>& stop, const Work& done, int workers) {
  base::Lock lock{mutex_};
  queue_.worked(done);
  for (;;) {
    if (stop) return {};
    Taken taken = queue_.take(Clock::now());
    end_change();
    if (!taken.empty()) return taken;
    idle_workers_ += workers;
    work_.wait(lock, [&, seen = work_changes_]() REQUIRES(mutex_) { return stop || work_changes_ != seen; });
    idle_workers_ -= workers;
  }
}

void InFlight::put_back(std::vector<RunSlice> slices) {
  if (slices.empty()) return;
  const Locked queue{*this};
  queue->put_back(std::move(slices), queue.now);
}

bool InFlight::awaits(const std::vector<settler::Report>& reports) const {
  const auto is_of_lane = [](const settler::Report& report) { return report.run->lease.lane.has_value(); };
  if (std::any_of(reports.begin(), reports.end(), is_of_lane)) return true;
  const base::Lock lock{mutex_};
  return queue_.deferred() > 0;
}

void InFlight::wake() {
  const base::Lock lock{mutex_};
  work_.notify_all();
}

// ---- the settler

void InFlight::settled(const settler::Run& run, std::int64_t events) {
  const Locked queue{*this};
  queue->settled(run, events, queue.now);
}

void InFlight::settled_in_order(const settler::Run& run, const settler::KeyEffects& effects) {
  const Locked queue{*this};
  queue->settled_in_order(run, effects, queue.now);
}

// ---- figures

bool InFlight::idle() const {
  const base::Lock lock{mutex_};
  return queue_.idle();
}

Stats InFlight::stats() const {
  const base::Lock lock{mutex_};
  const HandlerState& state = queue_.state();
  const Admission& admission = state.admission;
  Stats out;
  out.queued = state.queue.queued();
  out.in_flight = state.queue.events();
  out.in_flight_bytes = state.queue.bytes();
  out.reserved = state.room.reservations().events();
  out.target = std::min(queue_.target(), state.room.limit());
  out.per_second = state.room.pace().per_second();
  out.expired = state.queue.expired();
  out.released = state.queue.released();
  out.repeated = figures_.repeated;
  out.deadlines = figures_.deadlines;
  out.abandoned = figures_.abandoned;
  out.backlog = state.due.has_backlog();
  out.sequences = state.sequences.count();
  out.blocked_keys = queue_.blocked_keys();
  out.paused = admission.is_closed_for(Closed::paused) || admission.hold().state() == Hold::State::held;
  out.stopped = admission.is_closed_for(Closed::stopped);
  out.limited = admission.is_limited();
  const auto away_since = admission.away_since();
  out.away = away_since.has_value();
  if (away_since) out.away_for = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *away_since);
  out.missing_sessions = figures_.missing_sessions.state();
  if (away_since) out.away_error = admission.away_error();
  out.running_calls = admission.running_calls();
  out.concurrency = state.room.pace().workers();
  out.unkeyed = state.unkeyed;
  out.bodies = figures_.bodies.seen();
  out.calls = figures_.seconds.snapshot();
  return out;
}

}  // namespace inboxd::dispatcher
