#pragma once
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "admin/http_message.hpp"
#include "base/mutex.hpp"

namespace inboxd::admin {

/// The work of a request, and its lane. `nobody_waits` becomes true when the client has gone or the time is over.
struct LaneWork {
  std::size_t lane = 0;
  std::function<HttpResponse(const std::atomic<bool>& nobody_waits)> work;
  bool is_small = false;   ///< at most some 100 kB: answered even if other clients leave their answers unread
  bool has_token = false;  ///< queued before requests without a token, in places of its own
};

/// True once no client waits for the job. Each job has its own flag, so the pointer identifies the job.
using NobodyWaits = std::shared_ptr<std::atomic<bool>>;

/// A thread that runs jobs in order, a single job at a time. The number of waiting jobs is limited, and a job leaves
/// the queue with its client. Any thread may call it.
class Lane final {
 public:
  struct Job {
    std::function<void()> work;
    NobodyWaits nobody_waits;
    bool has_token = false;
  };
  /// `max_waiting` jobs with a token, and as many without.
  Lane(std::string name, std::size_t max_waiting) : name_{std::move(name)}, max_waiting_{max_waiting} {}
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void start();
  /// False: the queue is full, the job was not added.
  [[nodiscard]] bool add(Job job);
  /// The client has gone or has its answer: removes a waiting job, notifies a running job.
  void abandon(const NobodyWaits& nobody_waits);
  std::size_t waiting() const;
  /// Drops waiting jobs, notifies the running job.
  void request_stop();
  void join();

 private:
  void run();

  const std::string name_;
  const std::size_t max_waiting_;
  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  NobodyWaits running_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// Lowers the priority of the calling thread: serving must not delay ingest.
void give_way();

}  // namespace inboxd::admin
