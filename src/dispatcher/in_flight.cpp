#include "dispatcher/in_flight.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "config/topics.hpp"
#include "dispatcher/expiry.hpp"

namespace inboxd::dispatcher {
namespace {

/// The assumed size of an event before any was seen.
constexpr std::int64_t guessed_bytes_per_event = 2048;
/// A larger run raises the estimate at once, smaller ones lower it with this weight: too little room is safer.
constexpr std::int64_t shrinking_weight = 16;
/// With a backlog, claims wait until this part of the room is free, so that they bring whole runs.
constexpr std::int64_t worth_a_claim = 4;
/// A queue longer than this times the target is released.
constexpr std::int64_t too_much = 2;

}  // namespace

InFlight::InFlight(std::int32_t handler_id, const config::Handler& settings, std::chrono::milliseconds poll,
                   std::shared_ptr<Budgets> budgets, std::shared_ptr<ClaimerSignals> claimer)
    : handler_id_{handler_id},
      poll_{poll},
      budgets_{std::move(budgets)},
      claimer_{std::move(claimer)},
      handler_{settings.name},
      policy_{std::make_shared<const config::Policy>(config::policy_of(settings))},
      lease_{settings.lease},
      max_crashes_{settings.max_crashes},
      pace_{settings.concurrency, settings.events_per_call},
      bytes_per_event_{guessed_bytes_per_event} {}

std::string InFlight::handler() const {
  const std::lock_guard lock{mutex_};
  return handler_;
}

void InFlight::close(Closed reason) {
  const std::lock_guard lock{mutex_};
  close_for(reason);
}

/// Under the lock.
void InFlight::close_for(Closed reason) {
  closed_ |= static_cast<unsigned>(reason);
  sequences_.drain_all();
  after_change();
  queue_.release(0);
  count();
  claimer_->wake.notify();
}

void InFlight::reopen(Closed reason) {
  const std::lock_guard lock{mutex_};
  reopen_for(reason);
}

/// Under the lock.
void InFlight::reopen_for(Closed reason) {
  closed_ &= ~static_cast<unsigned>(reason);
  backlog_ = true;
  next_take_ = {};  // its sequences were released
  claimer_->wake.notify();
}

void InFlight::configure(const config::Handler& settings, plugin::Instance::Needs needs) {
  const std::lock_guard lock{mutex_};
  set_order(settings, needs);
  needs_ = needs;
  hold_.configure(settings.fuse_failures);
  has_fuse_ = settings.fuse_failures > 0;
  tokens_.configure(config::rate_per_second(settings));
  share_.configure(settings.max_in_flight);
  handler_ = settings.name;
  events_per_call_ = settings.events_per_call;
  transaction_events_ = events_per_call_ * settings.group;
  policy_ = std::make_shared<const config::Policy>(config::policy_of(settings));
  lease_ = settings.lease;
  max_crashes_ = settings.max_crashes;
  pace_.configure(settings.concurrency, settings.events_per_call);
  // Runs claimed without payloads are claimed again if the new plugin wants them: it would take such an event for a
  // tombstone.
  queue_.want_content(!needs.no_payloads);
  if (wake_claimer_to_release()) backlog_ = true;
  limits_have_changed();
  claimer_->wake.notify();
  count();
}

void InFlight::recount() {
  const std::lock_guard lock{mutex_};
  count();
}

// ---- room

std::int64_t InFlight::held() const {
  return queue_.events() + reservations_.events() + claiming_;
}

std::int64_t InFlight::held_bytes() const {
  return queue_.bytes() + reservations_.bytes() + claiming_ * bytes_per_event_;
}

std::int64_t InFlight::room() const {
  // Events that wait for others of their key do not count as work at hand: other keys flow beside a slow one.
  const std::int64_t at_work = held() - static_cast<std::int64_t>(keys_.deferred());
  return free_room({target(), std::min(pace_.minimum(), target()), at_work, budgets_->events.left_for(held()),
                    budgets_->bytes.left_for(held_bytes()), bytes_per_event_});
}

/// Reports the events held to the budgets, and the suspects to the claimer. Called after every change of them.
void InFlight::count() {
  const std::int64_t events_now = budgets_->events.common_part(held());
  const std::int64_t bytes_now = budgets_->bytes.common_part(held_bytes());
  budgets_->events.use(events_now - std::exchange(common_events_, events_now));
  budgets_->bytes.use(bytes_now - std::exchange(common_bytes_, bytes_now));
  const std::int64_t new_suspects = queue_.suspects() - std::exchange(suspects_, queue_.suspects());
  if (new_suspects != 0 && (claimer_->suspects += new_suspects) == 0) claimer_->wake.notify();
}

/// The most events of a run, for workers that settle in transactions: each gets runs of its own. 0: no limit.
std::int64_t InFlight::run_events_of(std::int64_t events) const {
  if (!needs_.sql) return 0;
  if (tokens_.is_on()) return std::min(tokens_.in_a_bite(), transaction_events_);
  if (order_) return std::max<std::int64_t>(std::min(pace_.batch_size_in_transactions(events), transaction_events_), 1);
  const std::int64_t even = (events + pace_.workers() - 1) / pace_.workers();
  const std::int64_t transaction = std::min(pace_.batch_size_in_transactions(events), transaction_events_);
  const std::int64_t transactions = (even + transaction - 1) / transaction;
  return std::max<std::int64_t>(transactions, 1) * transaction;
}

bool InFlight::room_is_enough() const {
  const std::int64_t free = room();
  if (free < 1) return false;
  return queue_.queued() == 0 || free * worth_a_claim >= held() + free;
}

void InFlight::note_size(std::int64_t events, std::int64_t bytes) {
  const std::int64_t each = std::max<std::int64_t>(bytes / std::max<std::int64_t>(events, 1), 1);
  bytes_per_event_ = std::max(each, bytes_per_event_ + (each - bytes_per_event_) / shrinking_weight);
}

void InFlight::add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end) {
  note_size(static_cast<std::int64_t>(run->size()), bytes);
  const auto sequence = run->lease.sequence;
  unkeyed_ += unkeyed_of(*run);
  if (sequence) sequences_.claimed(run->lease);
  queue_.add(std::move(run), bytes, sequence ? sequences_.lease_end(*sequence) : lease_end);
  if (sequence && !sequences_.may_run(*sequence)) queue_.release_sequence(*sequence);
  active_ = true;
  work_has_come();
}

/// A run for the queue or the settler; in a sequence with the key of each event. Without the lock: keys take a while.
std::shared_ptr<settler::Run> InFlight::run_of(inbox::LeasedRun lease) {
  std::unique_lock lock{mutex_};
  const auto run = std::make_shared<settler::Run>(std::move(lease), policy_, shared_from_this(), handler_);
  const auto order = order_;
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
  if (!wants_room_ || !room_is_enough()) return;
  wants_room_ = false;
  claimer_->wake.notify();
}

// ---- ingest

consumer::HandOff::Reservation InFlight::reserve(std::int64_t events, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  // Retries that are due must not keep fresh events waiting: each claim of them leaves half of the room.
  if (!takes() || (backlog_ && !only_retries_)) return {};
  return grant(events, bytes);
}

/// Under the lock.
consumer::HandOff::Reservation InFlight::grant(std::int64_t events, std::size_t bytes) {
  if (events <= 0) return {};
  std::int64_t granted = std::min(events, room());
  // `bytes_per_event_` may be far off; here the size is known.
  const auto each = static_cast<std::int64_t>(bytes) / events + 1;
  granted =
      std::min(granted, std::max<std::int64_t>(budgets_->bytes.left_for(held_bytes()) / each, held() == 0 ? 1 : 0));
  if (granted < events) no_room_ = true;
  if (granted <= 0) return {};
  reservations_.reserve(std::this_thread::get_id(), granted, granted * each, Clock::now() + lease_);
  count();
  return {granted, lease_, run_events_of(granted), false, 0, 0};
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
  const auto lease_end = reservations_.end(std::this_thread::get_id(), reserved);
  add(std::move(shared), bytes, lease_end.value_or(Clock::now()));
  if (!takes()) queue_.release(0);
  wake_claimer_to_release();
  after_change();
}

void InFlight::release(std::int64_t events) {
  const std::lock_guard lock{mutex_};
  reservations_.end(std::this_thread::get_id(), events);
  count();
  wake_claimer_for_room();
}

void InFlight::notify_due() {
  const std::lock_guard lock{mutex_};
  ++due_notices_;
  if (window_) return;  // its events wait until it closes
  next_read_ = Clock::now();
  if (order_) claimer_->wake.notify();
  if (backlog_) return;
  // Stored as due for want of room: a backlog. Otherwise ingest planned it while there still was one.
  backlog_ = std::exchange(no_room_, false);
  next_poll_ = Clock::now();
  claimer_->wake.notify();
}

std::int64_t InFlight::events_in(std::chrono::milliseconds time) const {
  const std::lock_guard lock{mutex_};
  const double events = pace_.per_second() * std::chrono::duration<double>{time}.count();
  return std::max(pace_.minimum(), static_cast<std::int64_t>(events));
}

void InFlight::notify_fed() {
  const std::lock_guard lock{mutex_};
  if (window_) return;  // its events wait until it closes
  ++due_notices_;
  sequences_.sweep();
  next_read_ = next_poll_ = Clock::now();
  claimer_->wake.notify();
}

// ---- workers

void InFlight::worked(const Work& done) {
  const std::lock_guard lock{mutex_};
  if (done.events > 0) pace_.worked(done.events, done.busy);
  if (done.had_events) share_.end();
  if (done.answered) away_since_.reset();
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
    if (order_) {
      if (stop) return {};
      Taken taken = begin(waits_for_trial() ? Taken{} : window_ ? take_window() : take_in_order());
      if (!taken.empty()) return taken;
      idle_workers_ += workers;
      work_.wait(lock, [&, seen = work_changes_] { return stop || work_changes_ != seen; });
      idle_workers_ -= workers;
      continue;
    }
    idle_workers_ += workers;
    work_.wait(lock, [&] { return stop || order_ || (queue_.queued() > 0 && !waits_for_trial() && may_begin()); });
    idle_workers_ -= workers;
    if (stop) return {};
    if (order_) continue;
    const std::int64_t expired = queue_.expired();
    const std::int64_t queued = queue_.queued();
    const std::int64_t size = needs_.sql ? pace_.batch_size_in_transactions(queued) : pace_.batch_size(queued);
    const auto now = Clock::now();
    std::vector<RunSlice> slices = queue_.take(std::min(size, tokens_.allowed(now)), now, needs_.sql);
    if (queue_.expired() != expired) {
      count();
      wake_claimer_to_release();
    }
    if (queue_.queued() > 0 && idle_workers_ > 0) work_.notify_one();
    if (slices.empty()) continue;
    return begin({std::move(slices), {}});
  }
}

void InFlight::put_back(std::vector<RunSlice> slices) {
  if (slices.empty()) return;
  const std::lock_guard lock{mutex_};
  hold_.put_back();
  for (const RunSlice& slice : slices) tokens_.give_back(slice.size());
  order_ ? put_back_in_order(slices) : queue_.put_back(std::move(slices));
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
  pace_.note_running(running);
  look_whether_back();
  if (order_) {  // its queue is bounded by its claims, and no other instance could take the events
    block_slow_keys();
    return work_has_come();
  }
  if (queue_.queued() <= too_much * target()) return;
  queue_.release(target());
  if (!wake_claimer_to_release()) return;
  backlog_ = true;
  count();
}

// ---- settler

void InFlight::settled(const settler::Run& run, std::int64_t events) {
  const std::lock_guard lock{mutex_};
  queue_.settled(run, events);
  if (run.lease.sequence) note_settled(*run.lease.sequence, events);
  if (window_ && queue_.events() == 0) {  // the window may be over
    next_read_ = Clock::now();
    claimer_->wake.notify();
  }
  after_change();
  wake_claimer_to_release();
  wake_claimer_for_room();
}

void InFlight::lost(const settler::Run& run) {
  const std::lock_guard lock{mutex_};
  hold_.put_back();
  work_has_come();
  queue_.lost(run);
  if (run.lease.sequence) sequences_.drain(*run.lease.sequence);
  after_change();
  wake_claimer_for_room();
}

void InFlight::retry_at(Clock::time_point due) {
  const std::lock_guard lock{mutex_};
  const auto before = retries_.next();
  retries_.add(due);
  if (before != retries_.next()) claimer_->wake.notify();
}

// ---- figures

bool InFlight::idle() const {
  const std::lock_guard lock{mutex_};
  // A poll in progress does not count: its events are still pending in the database.
  return queue_.events() + reservations_.events() == 0 && !(takes() && backlog_);
}

Stats InFlight::stats() const {
  const std::lock_guard lock{mutex_};
  const auto is = [&](Closed reason) { return (closed_ & static_cast<unsigned>(reason)) != 0; };
  Stats out;
  out.queued = queue_.queued();
  out.in_flight = queue_.events();
  out.in_flight_bytes = queue_.bytes();
  out.reserved = reservations_.events();
  out.target = std::min(target(), std::max(budgets_->events.limit(), pace_.minimum()));
  out.per_second = pace_.per_second();
  out.expired = queue_.expired();
  out.released = queue_.released();
  out.repeated = call_counts_.repeated;
  out.deadlines = call_counts_.deadlines;
  out.abandoned = call_counts_.abandoned;
  out.backlog = backlog_;
  out.sequences = sequences_.count();
  out.blocked_keys = keys_.blocked_keys();
  out.paused = is(Closed::paused) || is(Closed::held);
  out.stopped = is(Closed::stopped);
  out.limited = tokens_.is_waiting() || share_.is_waiting();
  out.away = away_since_.has_value();
  if (away_since_) out.away_for = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *away_since_);
  out.missing_sessions = missing_sessions_.state();
  if (away_since_) out.away_error = away_error_;
  out.running_calls = share_.running();
  out.concurrency = pace_.workers();
  out.unkeyed = unkeyed_;
  out.bodies = body_watch_.seen();
  out.calls = calls_.snapshot();
  return out;
}

}  // namespace inboxd::dispatcher
