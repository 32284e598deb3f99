#include "dispatcher/retirement.hpp"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace inboxd::dispatcher {

struct Retirement::Queue {
  struct Entry {
    std::string handler;
    std::shared_ptr<plugin::Instance> instance;
  };
  std::mutex mutex;  // guards the following
  std::condition_variable changed;
  std::deque<Entry> waiting;
  std::string ending;  ///< the handler whose instance ends now
  Clock::time_point since = Clock::time_point::max();
  bool stops = false;
  bool has_ended = false;
  bool is_left = false;
};

Retirement::Retirement(std::shared_ptr<Ends> ends) : ends_{std::move(ends)}, queue_{std::make_shared<Queue>()} {
  thread_ = std::thread{[queue = queue_, ends_of_all = ends_] {
    work(*queue);
    const std::lock_guard lock{queue->mutex};
    queue->has_ended = true;
    if (queue->is_left) --ends_of_all->left;
    queue->changed.notify_all();
  }};
  pthread_setname_np(thread_.native_handle(), "retirement");
}

Retirement::~Retirement() { finish(Clock::now()); }

void Retirement::take(std::string handler, std::shared_ptr<plugin::Instance> instance) {
  const std::lock_guard lock{queue_->mutex};
  queue_->waiting.push_back({std::move(handler), std::move(instance)});
  queue_->changed.notify_all();
}

std::optional<std::string> Retirement::overdue(Clock::time_point since) {
  const std::lock_guard lock{queue_->mutex};
  if (queue_->since > since) return std::nullopt;
  queue_->since = Clock::time_point::max();
  return queue_->ending;
}

bool Retirement::finish(Clock::time_point deadline) {
  if (!thread_.joinable()) return true;
  std::unique_lock lock{queue_->mutex};
  queue_->stops = true;
  queue_->changed.notify_all();
  if (!queue_->changed.wait_until(lock, deadline, [this] { return queue_->has_ended; })) {
    queue_->is_left = true;
    ++ends_->left;
    thread_.detach();
    return false;
  }
  lock.unlock();
  thread_.join();
  return true;
}

void Retirement::work(Queue& queue) {
  std::unique_lock lock{queue.mutex};
  while (true) {
    queue.changed.wait(lock, [&] { return queue.stops || !queue.waiting.empty(); });
    if (queue.waiting.empty()) return;
    Queue::Entry next = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    queue.ending = std::move(next.handler);
    queue.since = Clock::now();
    lock.unlock();
    next.instance.reset();  // plugin code
    lock.lock();
    queue.since = Clock::time_point::max();
  }
}

}  // namespace inboxd::dispatcher
