#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "workers/worker.hpp"

namespace inboxd::dispatcher {

/// The workers of a handler with asynchronous calls. A thread takes events for idle workers and begins their calls;
/// verdicts come from the plugin's threads. Shared with the open calls, which may end after the pool.
class AsyncWorkers final : public std::enable_shared_from_this<AsyncWorkers> {
 public:
  explicit AsyncWorkers(std::shared_ptr<WorkerPoolShare> share) : share_{std::move(share)} {}

  /// Any thread.
  void add(std::shared_ptr<Worker> worker);
  /// Makes the thread look at `share.stop` and at calls that were given up. Any thread.
  void wake();

  /// Whether the thread has ended; waits for it.
  bool wait_ended(std::chrono::milliseconds limit);

  /// The thread's body. Ends once the pool stops and each open call has ended or was given up.
  void run();

 private:
  struct Finished {
    std::shared_ptr<Worker> worker;
    std::vector<event::Verdict> verdicts;
    std::shared_ptr<AsyncWorkers> workers;  ///< the call's reference
  };
  std::vector<Finished> next_news();
  void take_events();
  void start_next(const std::shared_ptr<Worker>& worker);
  static void finished(std::shared_ptr<AsyncWorkers> self, Finished one);
  bool go_on(Finished& one);

  const std::shared_ptr<WorkerPoolShare> share_;
  std::atomic<bool> interrupted_{false};  ///< ends `take`

  base::Mutex mutex_;
  base::Condition changed_;
  std::vector<Finished> finished_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Worker>> added_ GUARDED_BY(mutex_);
  bool takes_ GUARDED_BY(mutex_) = false;      ///< the thread is about to wait for events
  bool has_ended_ GUARDED_BY(mutex_) = false;  ///< the thread

  // The thread's own.
  std::vector<std::shared_ptr<Worker>> idle_;
  std::vector<std::shared_ptr<Worker>> open_;  ///< with a call, also calls that were given up
};

}  // namespace inboxd::dispatcher
