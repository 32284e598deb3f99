#include "dispatcher/async_workers.hpp"

#include <algorithm>
#include <utility>

namespace inboxd::dispatcher {

void AsyncWorkers::add(std::shared_ptr<Worker> worker) {
  {
    const std::lock_guard lock{mutex_};
    added_.push_back(std::move(worker));
  }
  wake();
}

void AsyncWorkers::wake() {
  {
    const std::lock_guard lock{mutex_};
    interrupted_ = true;
    changed_.notify_one();
  }
  share_->in_flight->wake();
}

/// A call has ended. On the plugin's thread, or within `start`.
void AsyncWorkers::finished(Finished one) {
  bool takes = false;
  {
    std::unique_lock lock{mutex_};
    if (has_ended_) {  // the call was given up
      lock.unlock();
      go_on(one);
      return;
    }
    finished_.push_back(std::move(one));
    takes = takes_;
    if (takes) interrupted_ = true;
    changed_.notify_one();
  }
  if (takes) share_->in_flight->wake();
}

/// Calls that have ended since; waits for some unless a worker is idle.
std::vector<AsyncWorkers::Finished> AsyncWorkers::next_news() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return interrupted_ || !finished_.empty() || !idle_.empty(); });
  interrupted_ = false;
  for (auto& worker : std::exchange(added_, {})) idle_.push_back(std::move(worker));
  return std::exchange(finished_, {});
}

void AsyncWorkers::run() {
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
    const std::lock_guard lock{mutex_};
    if (!open_.empty() || !finished_.empty() || !added_.empty()) continue;
    has_ended_ = true;
    return;
  }
}

/// Events for one idle worker, or news.
void AsyncWorkers::take_events() {
  {
    const std::lock_guard lock{mutex_};
    if (interrupted_ || !finished_.empty()) return;
    takes_ = true;
  }
  auto taken = share_->in_flight->take(interrupted_, {}, static_cast<int>(idle_.size()));
  {
    const std::lock_guard lock{mutex_};
    takes_ = false;
  }
  if (taken.empty()) return;
  const auto worker = std::move(idle_.back());
  idle_.pop_back();
  if (worker->begin(std::move(taken))) return start_next(worker);
  share_->in_flight->worked(worker->take_work());
  idle_.push_back(worker);
}

/// The worker's next call; without one, the worker is idle.
void AsyncWorkers::start_next(const std::shared_ptr<Worker>& worker) {
  open_.push_back(worker);
  const auto done = [self = shared_from_this(), worker](std::vector<event::Verdict> verdicts) {
    self->finished({worker, std::move(verdicts)});
  };
  if (worker->start_call(done)) return;
  open_.pop_back();
  share_->in_flight->worked(worker->take_work());
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
