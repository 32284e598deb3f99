#include "dispatcher/in_flight.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "config/topics.hpp"
#include "dispatcher/expiry.hpp"

namespace inboxd::dispatcher {
namespace {

/// A queue longer than this times the target is released.
constexpr std::int64_t too_much = 2;
/// A slow key is blocked if its events are more than one in so many of those in memory.
constexpr std::int64_t large_part = 8;

}  // namespace

InFlight::InFlight(std::int32_t handler_id, const config::Handler& settings, std::chrono::milliseconds poll,
                   std::shared_ptr<Budgets> budgets, std::shared_ptr<ClaimerSignals> claimer)
    : handler_id_{handler_id},
      poll_{poll},
      claimer_{std::move(claimer)},
      settings_{settings, {}},
      room_{std::move(budgets), settings.concurrency, settings.events_per_call},
      due_{poll} {
  make_feed(settings_.order.get());
}

std::string InFlight::handler() const {
  const std::lock_guard lock{mutex_};
  return settings_.name;
}

void InFlight::configure(const config::Handler& settings, plugin::Instance::Needs needs) {
  const std::lock_guard lock{mutex_};
  Settings changed{settings, needs};
  if (!changed.has_same_order(settings_)) {
    sequences_.drain_all();
    after_change();  // its events leave memory
    make_feed(changed.order.get());
  }
  settings_ = std::move(changed);
  sequences_.use_whole_handler(settings_.order && settings_.order->is_of_whole_handler);
  after_change();
  admission_.configure(settings);
  has_fuse_ = settings.fuse_failures > 0;
  room_.pace().configure(settings.concurrency, settings.events_per_call);
  // Runs claimed without payloads are claimed again if the new plugin wants them: it would take such an event for a
  // tombstone.
  queue_.want_content(!needs.no_payloads);
  if (wake_claimer_to_release()) due_.set_backlog(true);
  apply(Admission::Effect::work);
  claimer_->wake.notify();
  count();
}

void InFlight::recount() {
  const std::lock_guard lock{mutex_};
  count();
}

// ---- room

std::int64_t InFlight::free_room() const { return room_.free(queue_, target(), feed_.deferred()); }

bool InFlight::has_room_for_claim() const { return room_.is_worth_a_claim(queue_, free_room()); }

/// Reports the events held to the budgets, and the suspects to the claimer. Called after every change of them.
void InFlight::count() {
  room_.count(queue_);
  const std::int64_t new_suspects = queue_.suspects() - std::exchange(suspects_, queue_.suspects());
  if (new_suspects != 0 && (claimer_->suspects += new_suspects) == 0) claimer_->wake.notify();
}

/// The most events of a run, for workers that settle in transactions: each gets runs of its own. 0: no limit.
std::int64_t InFlight::run_events_of(std::int64_t events) const {
  if (!settings_.needs.sql) return 0;
  if (const auto& tokens = admission_.tokens(); tokens.is_on()) {
    return std::min(tokens.in_a_bite(), settings_.transaction_events);
  }
  const Pace& pace = room_.pace();
  const std::int64_t transaction = std::min(pace.batch_size_in_transactions(events), settings_.transaction_events);
  if (settings_.order) return std::max<std::int64_t>(transaction, 1);
  const std::int64_t even = (events + pace.workers() - 1) / pace.workers();
  const std::int64_t transactions = (even + transaction - 1) / transaction;
  return std::max<std::int64_t>(transactions, 1) * transaction;
}

void InFlight::add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end) {
  room_.note_size(static_cast<std::int64_t>(run->size()), bytes);
  const auto sequence = run->lease.sequence;
  unkeyed_ += unkeyed_of(*run);
  if (sequence) sequences_.claimed(run->lease);
  queue_.add(std::move(run), bytes, sequence ? sequences_.lease_end(*sequence) : lease_end);
  if (sequence && !sequences_.may_run(*sequence)) queue_.release_sequence(*sequence);
  readings_.note_activity();
  work_has_come();
}

/// A run for the queue or the settler; in a sequence with the key of each event. Without the lock: keys take a while.
std::shared_ptr<settler::Run> InFlight::run_of(inbox::LeasedRun lease) {
  std::unique_lock lock{mutex_};
  const auto run =
      std::make_shared<settler::Run>(std::move(lease), settings_.policy, shared_from_this(), settings_.name);
  const auto order = settings_.order;
  lock.unlock();
  if (run->lease.sequence) set_keys(*run, order.get());
  return run;
}

/// True if there are leases to release.
bool InFlight::wake_claimer_to_release() {
  if (!queue_.any_released()) return false;
  claimer_->wake.notify();
  return true;
}

void InFlight::wake_claimer_for_room() {
  if (!wants_room_ || !has_room_for_claim()) return;
  wants_room_ = false;
  claimer_->wake.notify();
}

// ---- ingest

consumer::HandOff::Reservation InFlight::reserve(std::int64_t events, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  if (!takes() || !due_.may_hand_over()) return {};
  return grant(events, bytes);
}

/// Under the lock.
consumer::HandOff::Reservation InFlight::grant(std::int64_t events, std::size_t bytes) {
  if (events <= 0) return {};
  // The estimate of the room may be far off; here the size is known.
  const auto each = static_cast<std::int64_t>(bytes) / events + 1;
  const std::int64_t granted = std::min({events, free_room(), room_.events_of_size(queue_, each)});
  if (granted < events) due_.note_no_room();
  if (granted <= 0) return {};
  room_.reservations().reserve(std::this_thread::get_id(), granted, granted * each, Clock::now() + settings_.lease);
  count();
  return {granted, settings_.lease, run_events_of(granted), false, 0, 0};
}

void InFlight::hand_over(inbox::LeasedRun run, std::int64_t reserved) {
  const std::int64_t bytes = bytes_of(run);
  std::shared_ptr<settler::Run> shared;
  try {
    detach_events(run, bytes);
    shared = run_of(std::move(run));
  } catch (...) {
    release(reserved);
    throw;
  }
  const std::lock_guard lock{mutex_};
  const auto lease_end = room_.reservations().end(std::this_thread::get_id(), reserved);
  add(std::move(shared), bytes, lease_end.value_or(Clock::now()));
  if (!takes()) queue_.release(0);
  wake_claimer_to_release();
  after_change();
}

void InFlight::release(std::int64_t events) {
  const std::lock_guard lock{mutex_};
  room_.reservations().end(std::this_thread::get_id(), events);
  count();
  wake_claimer_for_room();
}

void InFlight::notify_due() {
  const std::lock_guard lock{mutex_};
  due_.note_stored();
  if (feed_.has_window()) return;  // its events wait until it closes
  next_read_ = Clock::now();
  if (settings_.order) claimer_->wake.notify();
  if (due_.note_due(Clock::now())) claimer_->wake.notify();
}

std::int64_t InFlight::events_in(std::chrono::milliseconds time) const {
  const std::lock_guard lock{mutex_};
  const double events = room_.pace().per_second() * std::chrono::duration<double>{time}.count();
  return std::max(room_.pace().minimum(), static_cast<std::int64_t>(events));
}

void InFlight::notify_fed() {
  const std::lock_guard lock{mutex_};
  if (feed_.has_window()) return;  // its events wait until it closes
  due_.note_stored();
  sequences_.sweep();
  next_read_ = Clock::now();
  due_.poll_at(next_read_);
  claimer_->wake.notify();
}

// ---- workers

void InFlight::worked(const Work& done) {
  const std::lock_guard lock{mutex_};
  if (done.events > 0) room_.pace().worked(done.events, done.busy);
  if (done.had_events) admission_.end_work();
  if (done.answered) admission_.is_back();
}

InFlight::Taken InFlight::take(const std::atomic<bool>& stop, Work done, int workers) {
  worked(done);
  Taken out = next_work(stop, workers);
  out.had_events = !out.slices.empty();
  auto expired = take_out_expired(out.slices, now());
  std::int64_t not_called_events = 0;
  for (const settler::Report& report : expired) {
    not_called_events += static_cast<std::int64_t>(report.end - report.first);
  }
  if (!expired.empty()) not_called(not_called_events, out.slices.empty());
  for (settler::Report& report : expired) out.uncalled.push_back(std::move(report));
  return out;
}

InFlight::Taken InFlight::next_work(const std::atomic<bool>& stop, int workers) {
  std::unique_lock lock{mutex_};
  for (;;) {
    if (stop) return {};
    Taken taken = take_now(Clock::now());
    if (!taken.empty()) return taken;
    idle_workers_ += workers;
    work_.wait(lock, [&, seen = work_changes_] { return stop || work_changes_ != seen; });
    idle_workers_ -= workers;
  }
}

/// Under the lock. The events that a worker may take now, and reports of events that leave memory.
InFlight::Taken InFlight::take_now(Clock::time_point now) {
  Taken out;
  if (admission_.state() == Admission::State::trial) return out;
  if (sequences_.count() > 0) {
    sequences_.drain_overdue(now);
    after_change();
  }
  do {
    out.uncalled = feed_.take_behind(queue_);
    if (!out.uncalled.empty() || queue_.queued() == 0 || !may_begin()) return out;
    const std::int64_t expired = queue_.expired();
    const bool is_full = !room_.is_claiming() && free_room() < 1;  // a claim in progress has reserved room
    out.slices = feed_.take({queue_, room_.pace(), now, admission_.max_events(now), settings_.events_per_call,
                             settings_.needs.sql, is_full, sequences_.is_alone(inbox::whole_handler)});
    if (queue_.expired() != expired) {
      count();
      wake_claimer_to_release();
    }
  } while (out.slices.empty() && feed_.any_behind());
  if (!out.slices.empty() && feed_.has_more(queue_)) work_has_come();
  return begin(std::move(out));
}

void InFlight::put_back(std::vector<RunSlice> slices) {
  if (slices.empty()) return;
  const std::lock_guard lock{mutex_};
  std::int64_t events = 0;
  for (const RunSlice& slice : slices) events += slice.size();
  admission_.give_back(events, true);
  feed_.put_back(queue_, std::move(slices));
  if (!takes()) queue_.release(0);
  wake_claimer_to_release();
  after_change();
  if (queue_.queued() > 0) work_has_come();
}

void InFlight::wake() {
  const std::lock_guard lock{mutex_};
  work_.notify_all();
}

void InFlight::review(Pace::Running running) {
  const std::lock_guard lock{mutex_};
  room_.pace().note_running(running);
  apply(admission_.review(Clock::now(), queue_.events() > 0));
  // Once half of the memory is in use, slow keys wait in their lanes, so that others have room.
  const auto large = static_cast<std::size_t>(room_.held(queue_) / large_part);
  feed_.review(room_.is_filling(queue_) ? large : std::numeric_limits<std::size_t>::max(), Clock::now());
  if (!feed_.may_release()) return work_has_come();
  if (queue_.queued() <= too_much * target()) return;
  queue_.release(target());
  if (!wake_claimer_to_release()) return;
  due_.set_backlog(true);
  count();
}

// ---- settler

void InFlight::settled(const settler::Run& run, std::int64_t events) {
  const std::lock_guard lock{mutex_};
  queue_.settled(run, events);
  feed_.settled(run, events);
  if (feed_.has_window() && queue_.events() == 0) {  // the window may be over
    next_read_ = Clock::now();
    claimer_->wake.notify();
  }
  after_change();
  wake_claimer_to_release();
  wake_claimer_for_room();
}

void InFlight::lost(const settler::Run& run) {
  const std::lock_guard lock{mutex_};
  admission_.lose_trial();
  work_has_come();
  queue_.lost(run);
  if (run.lease.sequence) sequences_.drain(*run.lease.sequence);
  after_change();
  wake_claimer_for_room();
}

void InFlight::retry_at(Clock::time_point due) {
  const std::lock_guard lock{mutex_};
  if (due_.add_retry(due)) claimer_->wake.notify();
}

// ---- figures

bool InFlight::idle() const {
  const std::lock_guard lock{mutex_};
  // A poll in progress does not count: its events are still pending in the database.
  return queue_.events() + room_.reservations().events() == 0 && !(takes() && due_.has_backlog());
}

Stats InFlight::stats() const {
  const std::lock_guard lock{mutex_};
  Stats out;
  out.queued = queue_.queued();
  out.in_flight = queue_.events();
  out.in_flight_bytes = queue_.bytes();
  out.reserved = room_.reservations().events();
  out.target = std::min(target(), room_.limit());
  out.per_second = room_.pace().per_second();
  out.expired = queue_.expired();
  out.released = queue_.released();
  out.repeated = call_counts_.repeated;
  out.deadlines = call_counts_.deadlines;
  out.abandoned = call_counts_.abandoned;
  out.backlog = due_.has_backlog();
  out.sequences = sequences_.count();
  out.blocked_keys = feed_.blocked_keys();
  out.paused = admission_.is_closed_for(Closed::paused) || admission_.hold().state() == Hold::State::held;
  out.stopped = admission_.is_closed_for(Closed::stopped);
  out.limited = admission_.is_limited();
  const auto away_since = admission_.away_since();
  out.away = away_since.has_value();
  if (away_since) out.away_for = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *away_since);
  out.missing_sessions = missing_sessions_.state();
  if (away_since) out.away_error = admission_.away_error();
  out.running_calls = admission_.running_calls();
  out.concurrency = room_.pace().workers();
  out.unkeyed = unkeyed_;
  out.bodies = body_watch_.seen();
  out.calls = calls_.snapshot();
  return out;
}

}  // namespace inboxd::dispatcher
