#include "workers/async_workers.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::dispatcher {

void AsyncWorkers::add(std::shared_ptr<Worker> worker) {
  {
    const base::Lock lock{mutex_};
    added_.push_back(std::move(worker));
  }
  wake();
}

void AsyncWorkers::wake() {
  {
    const base::Lock lock{mutex_};
    interrupted_ = true;
    changed_.notify_all();
  }
  share_->in_flight->wake();
}

/// A call has ended. On the plugin's thread, or within `start`. That thread keeps no reference: the last reference
/// destroys the plugin's instance, which may wait for this thread.
void AsyncWorkers::finished(std::shared_ptr<AsyncWorkers> self, Finished one) {
  AsyncWorkers& workers = *self;
  const auto in_flight = workers.share_->in_flight;
  {
    base::Lock lock{workers.mutex_};
    if (workers.has_ended_) {
      lock.unlock();
      // The call was given up, and the pool is gone.
      std::thread{[pool = std::move(self), late = std::move(one)]() mutable { pool->go_on(late); }}.detach();
      return;
    }
    const bool takes = workers.takes_;
    if (takes) workers.interrupted_ = true;
    one.workers = std::move(self);
    workers.finished_.push_back(std::move(one));
    workers.changed_.notify_one();
    if (!takes) return;
  }
  in_flight->wake();
}

/// Calls that have ended since; waits for some unless a worker is idle.
std::vector<AsyncWorkers::Finished> AsyncWorkers::next_news() {
  base::Lock lock{mutex_};
  changed_.wait(lock, [&]() REQUIRES(mutex_) { return interrupted_ || !finished_.empty() || !idle_.empty(); });
  interrupted_ = false;
  for (auto& worker : std::exchange(added_, {})) idle_.push_back(std::move(worker));
  return std::exchange(finished_, {});
}

void AsyncWorkers::run() {
  const base::SignalStack signal_stack;
  for (;;) {
    for (Finished& one : next_news()) {
      std::erase(open_, one.worker);
      if (go_on(one)) start_next(one.worker);
    }
    if (!share_->stop) {
      if (!idle_.empty()) take_events();
      continue;
    }
    std::erase_if(open_, [](const auto& worker) { return worker->is_abandoned(); });
    for (const auto& worker : std::exchange(idle_, {})) worker->end();
    const base::Lock lock{mutex_};
    if (!open_.empty() || !finished_.empty() || !added_.empty()) continue;
    has_ended_ = true;
    changed_.notify_all();
    return;
  }
}

bool AsyncWorkers::wait_ended(std::chrono::milliseconds limit) {
  base::Lock lock{mutex_};
  return changed_.wait_for(lock, limit, [&]() REQUIRES(mutex_) { return has_ended_; });
}

/// Events for an idle worker, or news.
void AsyncWorkers::take_events() {
  {
    const base::Lock lock{mutex_};
    if (interrupted_ || !finished_.empty()) return;
    takes_ = true;
  }
  auto taken = share_->in_flight->take(interrupted_, {}, static_cast<int>(idle_.size()));
  {
    const base::Lock lock{mutex_};
    takes_ = false;
  }
  if (taken.empty()) return;
  const auto worker = std::move(idle_.back());
  idle_.pop_back();
  if (worker->begin(std::move(taken))) return start_next(worker);
  share_->in_flight->lock()->worked(worker->take_work());
  idle_.push_back(worker);
}

/// The worker's next call; if there is none, the worker is idle.
void AsyncWorkers::start_next(const std::shared_ptr<Worker>& worker) {
  open_.push_back(worker);
  const auto done = [self = shared_from_this(), its = worker](std::vector<event::Verdict> verdicts) mutable {
    finished(std::move(self), {std::move(its), std::move(verdicts), nullptr});
  };
  if (worker->start_call(done)) return;
  open_.pop_back();
  share_->in_flight->lock()->worked(worker->take_work());
  idle_.push_back(worker);
}

/// Whether the worker, whose call has ended, is still of use.
bool AsyncWorkers::go_on(Finished& one) {
  if (one.worker->finish_call(std::move(one.verdicts))) return true;
  one.worker->end();
  --share_->exits->left;
  share_->exits->wake.notify();
  return false;
}

}  // namespace inboxd::dispatcher
