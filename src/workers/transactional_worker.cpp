// Calls in transactions: some calls, the outcomes of their events, COMMIT; or a rollback, and again.
#include <algorithm>
#include <string>
#include <utility>

#include "base/mutex.hpp"

#include "workers/transactional_worker.hpp"

namespace inboxd::dispatcher {
namespace {

using std::chrono::milliseconds;

/// A transaction older than this takes no further calls: others wait for its locks.
constexpr milliseconds max_open{250};
/// The lock timeout while all transactions may hold several calls. It finds two that wait for each other long before
/// the server looks for deadlocks (deadlock_timeout, 1 s).
constexpr milliseconds shared_lock_wait{200};
/// Savepoints cost as much as small statements. So calls get them only after a call has failed, for this many groups.
constexpr int groups_with_savepoints = 32;

event::Verdict failure(std::string error_class, std::string message) {
  return {event::Verdict::Kind::retry, std::nullopt, std::move(error_class), std::move(message)};
}

/// The server ended a statement at the call's deadline or at a statement timeout, and the call did not roll back.
bool ran_out_of_time(const transaction::CallEnd& end) {
  return end.unhandled_error && end.unhandled_error->sqlstate == "57014";
}

/// The reason to run again, if the connection was lost.
RetryReason reason_if_lost(const transaction::CallEnd& end) {
  if (end.was_cut_off) return RetryReason::cut_off;
  return end.lost_in_statement ? RetryReason::lost_in_statement : RetryReason::disconnected;
}

}  // namespace

TransactionalWorker::TransactionalWorker(std::shared_ptr<WorkerPoolShare> share, settler::Settler& settler)
    : Worker{std::move(share), settler},
      transaction_{share_->transactions("worker " + share_->handler)},
      backoff_{settler::DatabaseBackoff::Part::dispatcher, *share_->log, share_->limits.backoff,
               "handler " + share_->handler + ", its transactions"} {}

/// Transaction by transaction.
void TransactionalWorker::run_batch() {
  TransactionRetry retry;
  // The next events that run alone: together they failed, and the culprit is unknown.
  std::size_t one_by_one = 0;
  for (;;) {
    if (!has_session(retry)) break;
    Ended end = run_group(one_by_one > 0);
    pending_spans_.clear();  // spans not settled by now were undone
    uncommitted_ = {};
    spans_of_call_.reset();
    if (end == Ended::repeat && is_collision() && note_collision()) continue;
    if (end == Ended::repeat && retry.note(retry_reason_)) {
      end = one_by_one > 0 ? charge_culprit(retry) : Ended::split;
    }
    if (end == Ended::nothing || end == Ended::given_up) break;
    if (end == Ended::again) continue;
    if (end == Ended::done) {
      retry = {};
      backoff_.worked();
      if (one_by_one > 0) --one_by_one;
      if (savepoint_groups_ > 0) --savepoint_groups_;
    } else if (end == Ended::split) {
      one_by_one = std::max(one_by_one, undone_events_);
      retry = {};
    } else if (!wait_after(retry)) {
      break;
    }
  }
  put_back_all();
}

std::vector<event::Verdict> TransactionalWorker::handle(Clock::time_point deadline) {
  return share_->instance->handle_in(*transaction_, delivered_, cancellation_, deadline, spans_of_call_);
}

/// Some calls and their COMMIT. After `repeat` and `split` nothing has happened, and the batch is as before.
TransactionalWorker::Ended TransactionalWorker::run_group(bool one_event) {
  const GroupLimiter::Slot slot = share_->group_limiter.begin(Clock::now());
  const int max_calls = one_event || !slot.may_group() ? 1 : share_->group;
  group_level_ = max_calls > 1 ? std::optional{slot.level()} : std::nullopt;
  const std::size_t max_events = one_event ? 1 : share_->events_per_call;
  int calls = 0;
  std::size_t events = 0;
  const auto began = call_began_ = Clock::now();  // COMMIT and waits are no call's time
  const auto takes_another = [&] {
    if (calls == 0) return true;
    return calls < max_calls && slot.may_add_call() && Clock::now() - began < max_open;
  };
  while (takes_another() && begin_call(max_events)) {
    const Ended step = call_in_transaction(max_calls == 1 || savepoint_groups_ == 0, calls == 0);
    if (step == Ended::given_up) return Ended::given_up;
    if (step == Ended::repeat) return undo_group(Ended::repeat, events);
    if (step == Ended::split) return undo_group(Ended::split, events);
    if (step == Ended::again) return undo_group(Ended::again, events);
    if (step == Ended::with_savepoints) {
      savepoint_groups_ = groups_with_savepoints;
      return undo_group(Ended::again, events);
    }
    ++calls;
    events += delivered_.size();
    if (step == Ended::last) break;
  }
  return calls == 0 ? Ended::nothing : commit(events);
}

/// `events`: of the group's calls before the last call.
TransactionalWorker::Ended TransactionalWorker::undo_group(Ended end, std::size_t events) {
  undone_events_ = events + delivered_.size();
  {
    const base::Lock lock{mutex_};
    if (is_in_call()) change(CallState::idle);  // the call is over: rolling back is not its time
  }
  transaction_->roll_back();
  const base::Lock lock{mutex_};
  if (is_given_up()) return Ended::given_up;
  batch_.rewind();
  return end;
}

/// `alone`: without a savepoint. If such a call must be undone, the calls before it are undone too and all run again,
/// with savepoints.
TransactionalWorker::Ended TransactionalWorker::call_in_transaction(bool alone, bool is_first) {
  transaction::CallFrame frame;
  frame.alone = alone;
  frame.deadline = call_began_ + share_->deadline;
  if (group_level_ == GroupLimiter::Level::all) frame.lock_wait = shared_lock_wait;
  frame.body_watch = &share_->in_flight->figures().bodies;
  frame.events.reserve(delivered_.size());
  for (const plugin::Delivered& each : delivered_) {
    frame.events.push_back(
        {each.event, each.topic, each.partition, each.attempt, each.has_content, each.lease, each.unwrap});
  }
  transaction_->begin_call(std::move(frame));
  call_handler();
  const transaction::CallEnd end = transaction_->end_call();
  const auto duration = measure_call();
  if (end.must_repeat) {
    note_retry(end.unhandled_error, reason_if_lost(end));
    return Ended::repeat;
  }
  // Not every call is checked, so an earlier call or any event of this call may be the culprit. Running each event
  // alone shows it.
  if (end.violation && (delivered_.size() > 1 || !is_first)) return Ended::split;
  if (ran_out_of_time(end) && delivered_.size() > 1) {
    share_->log->warn("dispatcher.call_timed_out", {{"handler", share_->handler}, {"events", delivered_.size()}});
    return Ended::split;
  }
  if (end.ran && !end.unhandled_error) {
    const base::Lock lock{mutex_};
    if (batch_.cut_out_of_order(verdicts_)) return Ended::again;
  }
  if (!apply_call_end(end)) {
    if (alone && !is_first && end.ran) return Ended::with_savepoints;
    if (!alone || is_first) transaction_->undo_call();
  }
  if (spans_of_call_) pending_spans_.push_back({std::move(spans_of_call_), verdicts_});
  if (!end_call(duration)) return Ended::given_up;
  return end.leaves_state ? Ended::last : Ended::done;
}

/// Corrects the verdicts by the call's statements; returns whether its writes stay.
bool TransactionalWorker::apply_call_end(const transaction::CallEnd& end) {
  if (end.violation) {
    verdicts_.assign(delivered_.size(), failure("sql.session", "the handler " + *end.violation));
    return false;
  }
  if (end.unhandled_error) {
    for (event::Verdict& verdict : verdicts_) {
      if (!verdict.is_finished()) continue;
      verdict = failure("sql." + end.unhandled_error->sqlstate,
                        "a statement failed and was not rolled back, although the handler said done: " +
                            end.unhandled_error->message);
    }
    return false;
  }
  return std::any_of(verdicts_.begin(), verdicts_.end(),
                     [](const event::Verdict& verdict) { return verdict.is_finished(); });
}

/// A settlement for each run, even if other runs lie between the run's slices of the batch.
std::vector<TransactionalWorker::SettledRun> TransactionalWorker::settle(std::vector<settler::Report> reports) {
  std::vector<settler::SettlementBuilder> builders;
  for (settler::Report& report : reports) {
    auto of_run = std::find_if(builders.begin(), builders.end(),
                               [&](const settler::SettlementBuilder& each) { return each.run() == report.run; });
    if (of_run == builders.end()) of_run = builders.emplace(of_run, report.run);
    of_run->add(std::move(report));
  }
  std::vector<SettledRun> out;
  out.reserve(builders.size());
  for (settler::SettlementBuilder& builder : builders) {
    out.push_back({builder.run(), builder.take(settler::random01())});
  }
  return out;
}

/// Only a done event that COMMIT has recorded ends a row of failures. Failures count at once, for the fuse, unless the
/// transaction has a done event before them.
void TransactionalWorker::called(const CallCount& count) {
  if (count.done == 0 && uncommitted_.done == 0) return share_->in_flight->called(count);
  uncommitted_.done += count.done;
  uncommitted_.failed = count.done > 0 ? 0 : uncommitted_.failed + count.failed;
  uncommitted_.error_class = count.error_class;
}

TransactionalWorker::Ended TransactionalWorker::commit(std::size_t events) {
  std::vector<settler::Report> reports;
  WorkBatch before;
  {
    const base::Lock lock{mutex_};
    before = batch_;
    reports = batch_.take_finished();
  }
  std::vector<SettledRun> all = settle(std::move(reports));
  std::vector<inbox::Settlement> settlements;
  settlements.reserve(all.size());
  for (const SettledRun& each : all) settlements.push_back(each.settlement.settlement);
  const transaction::CommitEnd end = settlements.empty() ? transaction::CommitEnd{} : transaction_->commit(settlements);
  if (settlements.empty()) transaction_->roll_back();
  if (end.kind == transaction::CommitEnd::Kind::committed) {
    note_committed(all);
    return Ended::done;
  }
  pending_spans_.clear();  // undone, whichever outcome is recorded now
  uncommitted_ = {};
  {
    const base::Lock lock{mutex_};
    batch_ = std::move(before);
  }
  if (end.kind == transaction::CommitEnd::Kind::lost) {
    note_lost(end.lost);
    return Ended::done;
  }
  note_retry(end.error, end.was_in_doubt ? RetryReason::lost_in_commit : RetryReason::disconnected);
  if (events > 0) undone_events_ = events;
  const bool is_refused = end.kind == transaction::CommitEnd::Kind::refused;
  // Without a handler's writes, a refusal concerns the daemon's own statements too.
  if (end.kind == transaction::CommitEnd::Kind::unsettled || (is_refused && events == 0))
    retry_reason_ = RetryReason::environment;
  if (is_refused && events == 1) return charge(*end.error);
  const base::Lock lock{mutex_};
  batch_.rewind();
  return is_refused && events > 1 ? Ended::split : Ended::repeat;
}

void TransactionalWorker::note_committed(const std::vector<SettledRun>& all) {
  for (const CallSpans& call : pending_spans_) call.pending_spans->settled(call.verdicts);
  if (const CallCount count = std::exchange(uncommitted_, {}); count.done > 0) {
    share_->in_flight->called({count.done, 0, ""});
    share_->in_flight->called({0, count.failed, count.error_class});
  }
  const auto now = Clock::now();
  for (const SettledRun& each : all) {
    settler::Run& run = *each.run;
    const std::int64_t events = each.settlement.counts.events();
    run.recorded += static_cast<std::size_t>(events);
    settler_.count_committed(run, each.settlement);
    for (const auto& group : each.settlement.settlement.retries) run.owner->retry_at(now + group.delay);
    if (run.is_in_order()) run.owner->settled_in_order(run, each.settlement.keys);
    run.owner->settled(run, events);
  }
}

/// The fence stopped a COMMIT: nothing is written. All events go back to the queue, which drops the events of lost
/// leases.
void TransactionalWorker::note_lost(const std::vector<inbox::LeaseKey>& lost) {
  std::vector<RunSlice> slices;
  {
    const base::Lock lock{mutex_};
    slices = batch_.take_unreported();
    // The batch continues only if it keeps no order: later events of a key must not run before the events put back.
    const bool keeps_order =
        std::any_of(slices.begin(), slices.end(), [](const RunSlice& slice) { return slice.run->is_in_order(); });
    if (keeps_order) {
      for (RunSlice& slice : batch_.take_rest()) slices.push_back(std::move(slice));
    }
  }
  share_->log->warn("dispatcher.leases_lost", {{"handler", share_->handler}, {"deliveries", lost.size()}});
  const auto is_lost = [&](const RunSlice& slice) {
    return std::find(lost.begin(), lost.end(), slice.run->lease.key) != lost.end();
  };
  for (const RunSlice& slice : slices) {
    if (!is_lost(slice) || slice.run->lost.exchange(true)) continue;
    settler_.count_lost(*slice.run);
    slice.run->owner->lost(*slice.run, 0);
  }
  share_->in_flight->put_back(std::move(slices));
}

/// Ends the batch: events without a call, and interrupted events, go back to the queue.
void TransactionalWorker::put_back_all() {
  std::vector<RunSlice> rest;
  {
    const base::Lock lock{mutex_};
    if (is_given_up()) return;
    rest = batch_.take_unreported();
    for (RunSlice& slice : batch_.take_rest()) rest.push_back(std::move(slice));
    batch_ = WorkBatch{};
  }
  share_->in_flight->figures().seconds.add(calls_);
  share_->in_flight->put_back(std::move(rest));
}

}  // namespace inboxd::dispatcher
