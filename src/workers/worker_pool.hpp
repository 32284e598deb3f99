#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "config/settings.hpp"
#include "plugin/instance.hpp"
#include "queue/in_flight.hpp"
#include "settler/settler.hpp"
#include "workers/async_workers.hpp"
#include "workers/worker.hpp"

namespace inboxd::dispatcher {

/// The workers of a handler under a configuration: a thread each, or a shared thread if its calls are asynchronous. A
/// reload replaces the pool; the events in flight stay. Not thread-safe (the dispatcher's lock guards it).
class WorkerPool final {
 public:
  WorkerPool(std::shared_ptr<InFlight> in_flight, std::shared_ptr<plugin::Instance> instance,
             const config::Handler& settings, WatchLimits limits, std::shared_ptr<ThreadExits> exits,
             const transaction::TransactionFactory& transactions, settler::Settler& settler, base::Logger& log);
  /// Gives up running calls, uncharged, and transactions in doubt.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void start();
  /// No new calls.
  void request_stop();
  bool has_ended() const;

  /// Reviews the calls: see Worker::review. A lost thread is replaced. Beyond `concurrency` lost threads (twice as many
  /// if calls have several events) the handler is stopped until some return.
  void review(Worker::Clock::time_point now);

  /// Cancels running calls: the shutdown's deadline has passed.
  void cancel();
  /// Gives up running calls, uncharged.
  void abandon();

  const std::string& name() const { return name_; }
  const std::shared_ptr<plugin::Instance>& instance() const { return share_->instance; }
  std::chrono::milliseconds deadline() const { return share_->deadline; }

 private:
  struct PooledWorker {
    std::shared_ptr<Worker> worker;
    std::thread thread;  ///< none if calls are asynchronous
  };
  void spawn();
  void retire(PooledWorker& pooled, Worker::Review& review);
  void fill_up();
  void log_abandoned(const Worker::Review& review);

  const std::shared_ptr<WorkerPoolShare> share_;
  const std::string name_;
  const int concurrency_;
  settler::Settler& settler_;
  base::Logger& log_;
  std::vector<PooledWorker> workers_;
  const std::shared_ptr<AsyncWorkers> async_;  ///< null: a thread for each worker
  std::thread async_thread_;
  bool stopped_ = false;   ///< too many threads are lost
  bool is_short_ = false;  ///< fewer workers than configured: the system has no more threads
};

/// Destroys handlers' instances, each on its own thread (`retirement`). A plugin's `destroy` may take long or never
/// return, and neither a call, a reload nor another instance may wait for it. Any thread.
class InstanceReaper final {
 public:
  using Clock = std::chrono::steady_clock;

  /// `exits`: counts the threads left running.
  explicit InstanceReaper(std::shared_ptr<ThreadExits> exits) : exits_{std::move(exits)} {}
  ~InstanceReaper();
  InstanceReaper(const InstanceReaper&) = delete;
  InstanceReaper& operator=(const InstanceReaper&) = delete;

  /// Takes an instance without running calls. If a call that was given up still holds it, it ends with that call. If
  /// the system has no thread for it, it is destroyed here.
  void take(std::string handler, std::shared_ptr<plugin::Instance> instance);

  /// The handlers with instances that have been ending since before that time; each is returned once.
  std::vector<std::string> overdue(Clock::time_point since);

  /// Waits for all instances until the deadline. Leaves the threads of the other instances running and returns their
  /// handlers.
  std::vector<std::string> finish(Clock::time_point deadline);

 private:
  struct Ending;
  struct Entry {
    std::string handler;
    Clock::time_point since;
    std::shared_ptr<Ending> ending;  ///< shared with the thread, which may outlive this entry
    std::thread thread;
    bool is_named = false;
  };
  void join_ended() REQUIRES(mutex_);

  const std::shared_ptr<ThreadExits> exits_;
  base::Mutex mutex_;
  std::list<Entry> entries_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::dispatcher
