#include "workers/worker.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "config/units.hpp"

namespace inboxd::dispatcher {
namespace {

std::chrono::milliseconds rounded(Worker::Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

/// Whether the handler has handled any event, with whatever result: its service is there.
bool is_any_handled(const std::vector<event::Verdict>& verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(), [](const event::Verdict& verdict) {
    using Kind = event::Verdict::Kind;
    return verdict.kind != Kind::away && verdict.kind != Kind::pause && verdict.error_class != event::cancelled_class;
  });
}

event::Verdict deadline_verdict(std::chrono::milliseconds deadline) {
  return {event::Verdict::Kind::retry, std::nullopt, "deadline",
          "the call did not end within its deadline of " + config::duration_text(deadline)};
}

}  // namespace

Worker::Worker(std::shared_ptr<WorkerPoolShare> share, settler::Settler& settler)
    : share_{std::move(share)}, settler_{settler} {}

bool Worker::is_allowed(CallState from, CallState to) {
  switch (to) {
    case CallState::idle:
      return from != CallState::abandoned;
    case CallState::calling:
      return from == CallState::idle || from == CallState::waiting_for_database;
    case CallState::waiting_for_database:
      return from == CallState::calling;
    case CallState::abandoned:
      return from == CallState::calling || from == CallState::waiting_for_database;
  }
  return false;
}

void Worker::change(CallState to) {
  assert(to == state_ || is_allowed(state_, to));
  state_ = to;
}

bool Worker::run() {
  const base::SignalStack signal_stack;
  InFlight& in_flight = *share_->in_flight;
  for (;;) {
    prepare();
    auto taken = in_flight.take(share_->stop, take_work());
    if (taken.empty()) break;
    if (!begin(std::move(taken))) continue;
    run_batch();
    if (is_abandoned()) break;
  }
  return end();
}

bool Worker::begin(InFlight::Taken taken) {
  work_.had_events = taken.had_events;
  settler_.report(std::move(taken.uncalled), true);  // together, so that a lane gets its events in order
  if (taken.slices.empty()) return false;
  const base::Lock lock{mutex_};
  batch_ = WorkBatch{std::move(taken.slices)};
  return true;
}

bool Worker::start_call(plugin::Instance::Done done) {
  if (!next_call()) return false;
  crash_mark_.begin();
  share_->instance->start(delivered_, cancellation_, call_began_ + share_->deadline, std::move(done));
  return true;
}

bool Worker::finish_call(std::vector<event::Verdict> verdicts) {
  crash_mark_.end();
  verdicts_ = std::move(verdicts);
  return end_call(measure_call());
}

bool Worker::is_abandoned() {
  const base::Lock lock{mutex_};
  return is_given_up();
}

bool Worker::end() {
  if (work_.had_events) share_->in_flight->lock()->worked({0, {}, true, false});
  const bool was_given_up = is_abandoned();
  if (was_given_up) {
    --share_->abandoned;
    --share_->in_flight->figures().abandoned;
  }
  ended_ = true;
  share_->exits->wake.notify();
  return was_given_up;
}

/// Begins the batch's next call; false if there is none, or the worker must stop.
bool Worker::begin_call(std::size_t max_events) {
  const base::Lock lock{mutex_};
  if (is_given_up() || share_->stop || share_->in_flight->are_calls_stopped()) return false;
  if (batch_.is_next_taken(Clock::now()) || !batch_.begin_call(max_events)) return false;
  batch_.deliver(delivered_);
  // The end of a call is the beginning of the next, which saves reading the clock twice.
  if (work_.events == 0) call_began_ = taken_ = Clock::now();
  started_ = call_began_;
  slept_ = {};
  excused_ = false;
  change(CallState::calling);
  cancellation_.requested = share_->cancelled.load();
  return true;
}

/// Begins the next call; without a next call it reports the batch.
bool Worker::next_call() {
  if (begin_call(share_->events_per_call)) return true;
  if (is_abandoned()) return false;
  report_and_return();
  return false;
}

void Worker::run_batch() {
  while (next_call()) {
    call_handler();
    end_call(measure_call());
  }
}

std::vector<event::Verdict> Worker::handle(Clock::time_point deadline) {
  return share_->instance->handle(delivered_, cancellation_, deadline);
}

/// Asks the handler for verdicts on the delivered events.
void Worker::call_handler() {
  crash_mark_.begin();
  try {
    verdicts_ = handle(call_began_ + share_->deadline);
  } catch (const std::exception& thrown) {
    verdicts_.assign(delivered_.size(), {event::Verdict::Kind::retry, std::nullopt, "exception", thrown.what()});
  }
  crash_mark_.end();
}

/// In a signal handler: neither allocates nor locks.
void Worker::describe_call(const void* worker, base::CrashLine& line) {
  const Worker& self = *static_cast<const Worker*>(worker);
  line.fact("handler", self.share_->handler);
  if (self.delivered_.empty()) return;
  const plugin::Delivered& first = self.delivered_.front();
  line.fact("topic", first.topic);
  line.fact("partition", std::int64_t{first.partition});
  line.fact("offset", first.event->offset);
  line.fact("event_id", first.event->event_id);
  line.fact("attempt", std::int64_t{first.attempt});
  line.fact("events", static_cast<std::int64_t>(self.delivered_.size()));
}

/// The duration of the call that has just ended.
Worker::Clock::duration Worker::measure_call() {
  const auto now = Clock::now();
  const auto duration = now - std::exchange(call_began_, now);
  work_.busy += duration;
  share_->in_flight->figures().seconds.observe(std::chrono::duration<double>(duration).count(), calls_);
  return duration;
}

/// Takes over the verdicts; false if the call was given up meanwhile.
bool Worker::end_call(Clock::duration duration) {
  work_.events += static_cast<std::int64_t>(delivered_.size());
  base::Lock lock{mutex_};
  if (is_given_up()) return false;
  change(CallState::idle);
  // After a stop of the process, the handler may return before the overseer has noticed the stop.
  const bool is_late = Clock::now() - share_->reviewed_at.load() > share_->limits.late;
  const bool is_excused = share_->cancelled || excused_ || is_late;
  const bool took_too_long = cancellation_.requested || duration >= share_->deadline;
  const bool is_culprit = took_too_long && !is_excused && verdicts_.size() == 1;
  if (is_culprit && verdicts_[0].error_class == event::cancelled_class) {
    verdicts_[0] = deadline_verdict(share_->deadline);
  }
  const bool is_handled = is_any_handled(verdicts_);
  const CallCount count = batch_.end_call(std::move(verdicts_), rounded(duration),
                                          is_excused      ? WorkBatch::Cancelled::interrupted
                                          : took_too_long ? WorkBatch::Cancelled::one_by_one
                                                          : WorkBatch::Cancelled::failed);
  const auto paused_by = batch_.paused_by();
  const auto away_for = batch_.away_for();
  const std::string away_error = batch_.away_error();
  lock.unlock();
  called(count);
  if (paused_by) share_->in_flight->pause(*paused_by);
  if (away_for) {
    share_->in_flight->lock()->admit(
        [&](Admission& admission) { return admission.go_away(Clock::now(), *away_for, away_error); });
  }
  work_.answered = is_handled || (work_.answered && !away_for);
  return true;
}

void Worker::report_and_return() {
  std::vector<settler::Report> reports;
  std::vector<RunSlice> rest;
  {
    const base::Lock lock{mutex_};
    reports = batch_.take_finished();
    rest = batch_.take_rest();
    batch_ = WorkBatch{};
  }
  share_->in_flight->figures().seconds.add(calls_);
  const bool is_awaited = share_->in_flight->awaits(reports);
  settler_.report(std::move(reports), is_awaited);
  share_->in_flight->put_back(std::move(rest));
}

Worker::Review Worker::review(Clock::time_point now, Clock::duration slept) {
  Review out;
  const base::Lock lock{mutex_};
  if (!is_in_call()) return out;
  slept_ += std::min(slept, now - started_ - slept_);
  const auto elapsed = now - started_ - slept_;
  out.running = {static_cast<std::int64_t>(batch_.call_size()), elapsed};
  const bool is_taken = batch_.is_call_taken(now);
  excused_ = excused_ || is_taken || slept.count() > 0;
  if (elapsed >= share_->deadline || is_taken) cancellation_.requested = true;
  change(is_waiting_for_database() ? CallState::waiting_for_database : CallState::calling);
  if (state_ == CallState::waiting_for_database) waited_ = now;
  if (now >= std::max(started_ + slept_ + share_->deadline, waited_) + share_->limits.grace) {
    // The finished calls are undone with the transaction, uncharged.
    if (shares_transactions()) out.rest = batch_.take_unreported();
    if (const auto slices = batch_.call_slices(); !slices.empty()) out.call = slices.front();
    // Not if the handler would be stopped before the slow event shows: then nothing would ever be charged.
    out.split = batch_.call_size() > 1 && share_->abandoned + 2 <= share_->max_abandoned;
    if (out.split) {
      for (RunSlice& slice : batch_.split_call()) out.rest.push_back(std::move(slice));
    } else {
      lent_ = batch_.call_slices();
      batch_.keep_first();
      out.count = batch_.fail_call(deadline_verdict(share_->deadline), rounded(elapsed));
      out.paused_by = batch_.paused_by();
    }
    give_up(out);
    cut();
  }
  const auto patience = shares_transactions() ? share_->limits.patience_in_transactions : share_->limits.patience;
  if (out.abandoned || now - taken_ >= patience) {
    // The finished calls of an open transaction are not committed: only events without a call are taken away.
    if (!shares_transactions() || out.abandoned) out.reports = batch_.take_finished();
    for (RunSlice& slice : batch_.take_rest()) out.rest.push_back(std::move(slice));
  }
  return out;
}

/// Under the lock.
void Worker::give_up(Review& review) {
  change(CallState::abandoned);
  review.abandoned = true;
  ++share_->abandoned;
  ++share_->in_flight->figures().abandoned;
  ++share_->exits->left;
}

void Worker::cancel() {
  const base::Lock lock{mutex_};
  cancellation_.requested = true;
}

Worker::Review Worker::abandon() {
  Review out;
  const base::Lock lock{mutex_};
  // Also without a running call: the worker may be asking for ever whether a COMMIT in doubt succeeded.
  cut();
  if (!is_in_call()) return out;
  if (shares_transactions()) out.rest = batch_.take_unreported();
  for (RunSlice& slice : batch_.call_slices()) out.rest.push_back(std::move(slice));
  give_up(out);
  out.reports = batch_.take_finished();
  auto rest = batch_.take_rest();
  out.rest.insert(out.rest.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return out;
}

}  // namespace inboxd::dispatcher
