#include "dispatcher/crew.hpp"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace inboxd::dispatcher {

Crew::Crew(std::shared_ptr<InHand> in_hand, std::shared_ptr<plugin::Instance> instance, const config::Handler& settings,
           WatchLimits limits, std::shared_ptr<Ends> ends, const inbox::TransactionFactory& transactions,
           settler::Settler& settler, base::Logger& log)
    : share_{std::make_shared<CrewShare>()},
      name_{settings.name},
      concurrency_{std::max(settings.concurrency, 1)},
      settler_{settler},
      log_{log} {
  share_->in_hand = std::move(in_hand);
  if (instance->needs().sql) share_->transactions = transactions;
  share_->instance = std::move(instance);
  share_->log = &log;
  share_->handler = settings.name;
  share_->group = std::max(settings.group, 1);
  share_->ends = std::move(ends);
  share_->events_per_call = static_cast<std::size_t>(std::max(settings.events_per_call, 1));
  share_->most_abandoned = concurrency_ * (share_->events_per_call > 1 ? 2 : 1);  // an event may take two to show
  share_->deadline = settings.deadline;
  share_->limits = limits;
}

Crew::~Crew() {
  request_stop();
  cancel();
  abandon();
  for (Hired& hired : workers_) {
    if (hired.thread.joinable()) hired.thread.join();
  }
}

void Crew::start() { fill_up(); }

void Crew::hire() {
  auto worker = std::make_shared<Worker>(share_, settler_);
  std::thread thread{[worker, ends = share_->ends]() mutable {
    const bool was_left = worker->run();
    worker.reset();  // with its connection
    if (was_left) --ends->left;
  }};
  pthread_setname_np(thread.native_handle(), "worker");
  workers_.push_back({std::move(worker), std::move(thread)});
}

/// Threads may be short for a while: those who are there work, and the next review hires more.
void Crew::fill_up() {
  try {
    while (static_cast<int>(workers_.size()) < concurrency_) hire();
    is_short_ = false;
  } catch (const std::system_error& error) {
    if (std::exchange(is_short_, true)) return;
    log_.error("dispatcher: no thread for a worker, it is tried again",
               {{"handler", name_}, {"workers", workers_.size()}, {"error", error.what()}});
  }
}

void Crew::request_stop() {
  share_->stop = true;
  share_->in_hand->wake();
}

bool Crew::has_ended() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const Hired& hired) { return hired.worker->has_ended(); });
}

void Crew::review(Worker::Clock::time_point now) {
  const auto since = now - share_->reviewed_at.exchange(now);
  const auto slept = since > share_->limits.late ? since : Worker::Clock::duration{0};
  Pace::Running running;
  for (Hired& hired : workers_) {
    Worker::Review review = hired.worker->review(now, slept);
    running.events += review.running.events;
    running.elapsed += review.running.elapsed;
    if (review.abandoned) {
      ++share_->in_hand->call_counts().deadlines;
      const base::Logger::Facts facts{
          {"handler", name_}, {"events", review.running.events}, {"abandoned", share_->abandoned.load()}};
      if (review.split) {
        log_.warn("dispatcher: a call did not return within its deadline, its events go singly and its thread is left",
                  facts);
      } else {
        log_.warn("dispatcher: a call did not return within its deadline, its event is charged and its thread is left",
                  facts);
      }
    }
    dismiss(hired, review);
  }
  std::erase_if(workers_, [](const Hired& hired) { return hired.worker == nullptr; });
  if (share_->stop) return;
  share_->in_hand->review(running);
  const bool too_many = share_->abandoned > share_->most_abandoned;
  if (too_many && !stopped_) {
    log_.error("dispatcher: the handler is stopped, too many of its calls never returned",
               {{"handler", name_}, {"abandoned", share_->abandoned.load()}});
    share_->in_hand->close(InHand::Closed::stopped);
  } else if (!too_many && stopped_) {
    log_.info("dispatcher: the handler works again, calls have returned", {{"handler", name_}});
    share_->in_hand->reopen(InHand::Closed::stopped);
  }
  stopped_ = too_many;
  if (!stopped_) fill_up();
}

/// Acts on a review: what it found goes to the settler and to other workers, a lost thread is let go.
void Crew::dismiss(Hired& hired, Worker::Review& review) {
  settler_.report(std::move(review.reports));
  share_->in_hand->put_back(std::move(review.rest));
  if (!review.abandoned) return;
  hired.thread.detach();
  hired.worker = nullptr;
}

void Crew::cancel() {
  share_->cancelled = true;
  for (Hired& hired : workers_) hired.worker->cancel();
}

void Crew::abandon() {
  for (Hired& hired : workers_) {
    Worker::Review review = hired.worker->abandon();
    dismiss(hired, review);
  }
  std::erase_if(workers_, [](const Hired& hired) { return hired.worker == nullptr; });
}

}  // namespace inboxd::dispatcher
