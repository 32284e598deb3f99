#include "dispatcher/worker.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "config/units.hpp"

namespace inboxd::dispatcher {
namespace {

std::chrono::milliseconds rounded(Worker::Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

settler::Verdict deadline_verdict(std::chrono::milliseconds deadline) {
  return {settler::Verdict::Kind::retry, std::nullopt, "deadline",
          "the call did not return within its deadline of " + config::duration_text(deadline)};
}

}  // namespace

Worker::Worker(std::shared_ptr<CrewShare> share, settler::Settler& settler)
    : share_{std::move(share)},
      settler_{settler},
      transaction_{share_->transactions ? share_->transactions("worker " + share_->handler) : nullptr},
      trouble_{"dispatcher", *share_->log, share_->limits.trouble,
               "handler " + share_->handler + ", its transactions"} {}

bool Worker::run() {
  InHand& in_hand = *share_->in_hand;
  for (;;) {
    auto pieces = in_hand.take(share_->stop, std::exchange(work_, {}));
    if (pieces.empty()) break;
    {
      const std::lock_guard lock{mutex_};
      chunk_ = Chunk{std::move(pieces)};
    }
    if (transaction_) {
      run_transactions();
    } else {
      while (next_call()) call();
    }
    const std::lock_guard lock{mutex_};
    if (abandoned_) break;
  }
  bool was_given_up = false;
  {
    const std::lock_guard lock{mutex_};
    was_given_up = abandoned_;
    if (was_given_up) {
      --share_->abandoned;
      --share_->in_hand->call_counts().abandoned;
    }
  }
  ended_ = true;
  share_->ends->bell.ring();
  return was_given_up;
}

/// Begins the next call of the chunk; false where there is none, or no more are wanted.
bool Worker::begin_call(std::size_t most_events) {
  const std::lock_guard lock{mutex_};
  if (abandoned_ || share_->stop || !chunk_.begin_call(most_events)) return false;
  chunk_.deliver(delivered_);
  // One look at the clock for the end of a call and the beginning of the next.
  if (work_.events == 0) call_began_ = taken_ = Clock::now();
  started_ = call_began_;
  slept_ = {};
  excused_ = false;
  calling_ = true;
  cancellation_.requested = share_->cancelled.load();
  return true;
}

/// The same; where there is none, reports what is finished.
bool Worker::next_call() {
  if (begin_call(share_->events_per_call)) return true;
  {
    const std::lock_guard lock{mutex_};
    if (abandoned_) return false;
  }
  report_and_return();
  return false;
}

void Worker::call() {
  ask();
  end_call(note_time());
}

/// The handler's verdicts on what is delivered.
void Worker::ask() {
  const auto deadline = call_began_ + share_->deadline;
  try {
    verdicts_ = transaction_
                    ? share_->instance->handle_in(*transaction_, delivered_, cancellation_, deadline, aftermath_)
                    : share_->instance->handle(delivered_, cancellation_, deadline);
  } catch (const std::exception& thrown) {
    verdicts_.assign(delivered_.size(), {plugin::Verdict::Kind::retry, std::nullopt, "exception", thrown.what()});
  }
}

/// How long the call took that is over now.
Worker::Clock::duration Worker::note_time() {
  const auto now = Clock::now();
  const auto duration = now - std::exchange(call_began_, now);
  work_.busy += duration;
  share_->in_hand->calls().observe(std::chrono::duration<double>(duration).count(), calls_);
  return duration;
}

/// Its verdicts count; false where it was given up meanwhile.
bool Worker::end_call(Clock::duration duration) {
  work_.events += static_cast<std::int64_t>(delivered_.size());
  const std::lock_guard lock{mutex_};
  if (abandoned_) return false;
  calling_ = false;
  // The handler may come round before the overseer where the process stood still.
  const bool is_late = Clock::now() - share_->reviewed_at.load() > share_->limits.late;
  const bool is_excused = share_->cancelled || excused_ || is_late;
  const bool took_too_long = cancellation_.requested || duration >= share_->deadline;
  chunk_.end_call(std::move(verdicts_), rounded(duration),
                  is_excused      ? Chunk::Cancelled::is_an_interruption
                  : took_too_long ? Chunk::Cancelled::goes_singly
                                  : Chunk::Cancelled::is_a_failure);
  return true;
}

void Worker::report_and_return() {
  std::vector<settler::Report> reports;
  std::vector<Piece> rest;
  {
    const std::lock_guard lock{mutex_};
    reports = chunk_.take_finished();
    rest = chunk_.take_rest();
    chunk_ = Chunk{};
  }
  share_->in_hand->calls().add(calls_);
  settler_.report(std::move(reports));
  share_->in_hand->put_back(std::move(rest));
}

Worker::Review Worker::review(Clock::time_point now, Clock::duration slept) {
  Review out;
  const std::lock_guard lock{mutex_};
  if (!calling_ || abandoned_) return out;
  slept_ += std::min(slept, now - started_ - slept_);
  const auto elapsed = now - started_ - slept_;
  out.running = {static_cast<std::int64_t>(chunk_.call_size()), elapsed};
  const bool is_taken = chunk_.is_call_taken(now);
  excused_ = excused_ || is_taken || slept.count() > 0;
  if (elapsed >= share_->deadline || is_taken) cancellation_.requested = true;
  if (transaction_ && transaction_->is_waiting()) waited_ = now;
  if (now >= std::max(started_ + slept_ + share_->deadline, waited_) + share_->limits.grace) {
    // What is finished and not committed goes with the transaction, uncharged.
    if (transaction_) out.rest = chunk_.take_unreported();
    // Where the handler is stopped before the event shows that is the reason, nothing would ever be charged.
    out.split = chunk_.call_size() > 1 && share_->abandoned + 2 <= share_->most_abandoned;
    if (out.split) {
      for (Piece& piece : chunk_.split_call()) out.rest.push_back(std::move(piece));
    } else {
      chunk_.keep_first();
      chunk_.fail_call(deadline_verdict(share_->deadline), rounded(elapsed));
    }
    give_up(out);
    if (transaction_) transaction_->cut();
  }
  const auto patience = transaction_ ? share_->limits.patience_in_transactions : share_->limits.patience;
  if (out.abandoned || now - taken_ >= patience) {
    // What a transaction that is open has finished, is not: only what nobody has begun is taken away.
    if (!transaction_ || out.abandoned) out.reports = chunk_.take_finished();
    for (Piece& piece : chunk_.take_rest()) out.rest.push_back(std::move(piece));
  }
  return out;
}

/// Under the lock.
void Worker::give_up(Review& review) {
  abandoned_ = review.abandoned = true;
  ++share_->abandoned;
  ++share_->in_hand->call_counts().abandoned;
  ++share_->ends->left;
}

void Worker::cancel() {
  const std::lock_guard lock{mutex_};
  cancellation_.requested = true;
}

Worker::Review Worker::abandon() {
  Review out;
  const std::lock_guard lock{mutex_};
  // Also where it calls nobody: it asks for ever what became of a COMMIT.
  if (transaction_) transaction_->cut();
  if (!calling_ || abandoned_) return out;
  if (transaction_) out.rest = chunk_.take_unreported();
  for (Piece& piece : chunk_.call_pieces()) out.rest.push_back(std::move(piece));
  give_up(out);
  out.reports = chunk_.take_finished();
  auto rest = chunk_.take_rest();
  out.rest.insert(out.rest.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return out;
}

}  // namespace inboxd::dispatcher
