#include "workers/worker_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/mutex.hpp"
#include "base/text.hpp"
#include "workers/transactional_worker.hpp"

namespace inboxd::dispatcher {
namespace {

constexpr std::size_t max_key_bytes = 64;

}  // namespace

WorkerPool::WorkerPool(std::shared_ptr<InFlight> in_flight, std::shared_ptr<plugin::Instance> instance,
                       const config::Handler& settings, WatchLimits limits, std::shared_ptr<ThreadExits> exits,
                       const transaction::TransactionFactory& transactions, settler::Settler& settler,
                       base::Logger& log)
    : share_{std::make_shared<WorkerPoolShare>()},
      name_{settings.name},
      concurrency_{std::max(settings.concurrency, 1)},
      settler_{settler},
      log_{log},
      async_{instance->needs().is_async ? std::make_shared<AsyncWorkers>(share_) : nullptr} {
  share_->in_flight = std::move(in_flight);
  if (instance->needs().sql) share_->transactions = transactions;
  share_->instance = std::move(instance);
  share_->log = &log;
  share_->handler = settings.name;
  share_->group = std::max(settings.group, 1);
  share_->exits = std::move(exits);
  share_->events_per_call = static_cast<std::size_t>(std::max(settings.events_per_call, 1));
  share_->max_abandoned = concurrency_ * (share_->events_per_call > 1 ? 2 : 1);  // a slow event may take two to show
  share_->deadline = settings.deadline;
  share_->limits = limits;
}

WorkerPool::~WorkerPool() {
  request_stop();
  cancel();
  abandon();
  for (PooledWorker& pooled : workers_) {
    if (pooled.thread.joinable()) pooled.thread.join();
  }
  if (!async_thread_.joinable()) return;
  if (async_->wait_ended(share_->limits.grace)) {
    async_thread_.join();
  } else {
    ++share_->exits->left;  // the plugin does not return from `handle`
    async_thread_.detach();
  }
}

void WorkerPool::start() { fill_up(); }

void WorkerPool::spawn() {
  std::shared_ptr<Worker> worker;
  if (share_->transactions) {
    worker = std::make_shared<TransactionalWorker>(share_, settler_);
  } else {
    worker = std::make_shared<Worker>(share_, settler_);
  }
  if (async_) {
    if (!async_thread_.joinable()) {
      async_thread_ = std::thread{[async = async_] { async->run(); }};
      pthread_setname_np(async_thread_.native_handle(), "worker");
    }
    async_->add(worker);
    workers_.push_back({std::move(worker), {}});
    return;
  }
  std::thread thread{[worker, exits = share_->exits]() mutable {
    const bool was_left = worker->run();
    worker.reset();  // with its connection
    if (was_left) --exits->left;
  }};
  pthread_setname_np(thread.native_handle(), "worker");
  workers_.push_back({std::move(worker), std::move(thread)});
}

/// The system may have no thread left: the existing workers carry on, and the next review tries again.
void WorkerPool::fill_up() {
  try {
    while (static_cast<int>(workers_.size()) < concurrency_) spawn();
    is_short_ = false;
  } catch (const std::system_error& error) {
    if (std::exchange(is_short_, true)) return;
    log_.error("dispatcher.no_thread", {{"handler", name_}, {"workers", workers_.size()}, {"error", error.what()}});
  }
}

void WorkerPool::request_stop() {
  share_->stop = true;
  share_->in_flight->wake();
  if (async_) async_->wake();
}

bool WorkerPool::has_ended() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const PooledWorker& pooled) { return pooled.worker->has_ended(); });
}

/// With the first event of the call.
void WorkerPool::log_abandoned(const Worker::Review& review) {
  const settler::Run* const run = review.call ? review.call->run.get() : nullptr;
  const bool has_place = run != nullptr && run->lease.place != nullptr;
  const event::Event* const event = run == nullptr ? nullptr : run->lease.events[review.call->first];
  const bool has_key = event != nullptr && event->key && base::is_utf8(*event->key);
  const base::Logger::Facts facts{{"handler", name_},
                                  {"events", review.running.events},
                                  {"event_id", event == nullptr ? "" : event->event_id.text()},
                                  {"topic", has_place ? run->lease.place->topic : ""},
                                  {"partition", has_place ? run->lease.place->partition : -1},
                                  {"offset", event == nullptr ? -1 : event->offset},
                                  {"key", has_key ? base::shorten(*event->key, max_key_bytes) : ""},
                                  {"abandoned", share_->abandoned.load()}};
  if (review.split) {
    log_.warn("dispatcher.call_abandoned_split", facts);
  } else {
    log_.warn("dispatcher.call_abandoned_charged", facts);
  }
}

void WorkerPool::review(Worker::Clock::time_point now) {
  const auto since = now - share_->reviewed_at.exchange(now);
  const auto slept = since > share_->limits.late ? since : Worker::Clock::duration{0};
  Pace::Running running;
  for (PooledWorker& pooled : workers_) {
    Worker::Review review = pooled.worker->review(now, slept);
    running.events += review.running.events;
    running.elapsed += review.running.elapsed;
    if (review.abandoned) {
      ++share_->in_flight->figures().deadlines;
      log_abandoned(review);
    }
    retire(pooled, review);
  }
  std::erase_if(workers_, [](const PooledWorker& pooled) { return pooled.worker == nullptr; });
  if (share_->stop) return;
  share_->in_flight->lock()->review(running, now);
  const bool too_many = share_->abandoned > share_->max_abandoned;
  if (too_many && !stopped_) {
    log_.error("dispatcher.handler_stopped", {{"handler", name_}, {"abandoned", share_->abandoned.load()}});
    share_->in_flight->close(InFlight::Closed::stopped);
  } else if (!too_many && stopped_) {
    log_.info("dispatcher.handler_resumed", {{"handler", name_}});
    share_->in_flight->reopen(InFlight::Closed::stopped);
  }
  stopped_ = too_many;
  if (!stopped_) fill_up();
}

/// Acts on a review: reports go to the settler, events to other workers, and a lost thread is detached.
void WorkerPool::retire(PooledWorker& pooled, Worker::Review& review) {
  settler_.report(std::move(review.reports));
  share_->in_flight->called(review.count);
  if (review.paused_by) share_->in_flight->pause(*review.paused_by);
  share_->in_flight->put_back(std::move(review.rest));
  if (!review.abandoned) return;
  if (pooled.thread.joinable()) pooled.thread.detach();
  pooled.worker = nullptr;
}

void WorkerPool::cancel() {
  share_->cancelled = true;
  for (PooledWorker& pooled : workers_) pooled.worker->cancel();
}

void WorkerPool::abandon() {
  for (PooledWorker& pooled : workers_) {
    Worker::Review review = pooled.worker->abandon();
    retire(pooled, review);
  }
  std::erase_if(workers_, [](const PooledWorker& pooled) { return pooled.worker == nullptr; });
  if (async_) async_->wake();
}

// ---- instances

struct InstanceReaper::Ending {
  std::shared_ptr<plugin::Instance> instance;  ///< only the thread touches it
  base::Mutex mutex;
  base::Condition changed;
  bool has_ended GUARDED_BY(mutex) = false;
  bool is_left GUARDED_BY(mutex) = false;
};

InstanceReaper::~InstanceReaper() { finish(Clock::now()); }

void InstanceReaper::take(std::string handler, std::shared_ptr<plugin::Instance> instance) {
  // Declared before the lock: if no thread can be made, the instance is destroyed after the lock is released.
  const auto ending = std::make_shared<Ending>();
  ending->instance = std::move(instance);
  const base::Lock lock{mutex_};
  join_ended();
  Entry& entry = entries_.emplace_back(Entry{std::move(handler), Clock::now(), ending, {}});
  try {
    entry.thread = std::thread{[ending, exits = exits_] {
      ending->instance.reset();  // plugin code
      const base::Lock of_ending{ending->mutex};
      ending->has_ended = true;
      if (ending->is_left) --exits->left;
      ending->changed.notify_all();
    }};
    pthread_setname_np(entry.thread.native_handle(), "retirement");
  } catch (const std::system_error&) {
    entries_.pop_back();
  }
}

void InstanceReaper::join_ended() {
  entries_.remove_if([](Entry& entry) {
    {
      const base::Lock lock{entry.ending->mutex};
      if (!entry.ending->has_ended) return false;
    }
    entry.thread.join();
    return true;
  });
}

std::vector<std::string> InstanceReaper::overdue(Clock::time_point since) {
  const base::Lock lock{mutex_};
  join_ended();
  std::vector<std::string> out;
  for (Entry& entry : entries_) {
    if (entry.since < since && !std::exchange(entry.is_named, true)) out.push_back(entry.handler);
  }
  return out;
}

std::vector<std::string> InstanceReaper::finish(Clock::time_point deadline) {
  const base::Lock lock{mutex_};
  std::vector<std::string> out;
  for (Entry& entry : entries_) {
    base::Lock of_ending{entry.ending->mutex};
    const auto has_ended = [&]() REQUIRES(entry.ending->mutex) { return entry.ending->has_ended; };
    if (entry.ending->changed.wait_until(of_ending, deadline, has_ended)) {
      of_ending.unlock();
      entry.thread.join();
      continue;
    }
    entry.ending->is_left = true;
    ++exits_->left;
    entry.thread.detach();
    out.push_back(entry.handler);
  }
  entries_.clear();
  return out;
}

}  // namespace inboxd::dispatcher
