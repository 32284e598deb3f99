#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "admin/http_message.hpp"

namespace inboxd::admin {

/// Work that a request needs, and who does it. `nobody_waits` turns true where the client went or the time is over.
/// What is small (some hundred kB at most) is answered however much others have yet to take.
struct LaneWork {
  std::size_t lane = 0;
  std::function<HttpResponse(const std::atomic<bool>& nobody_waits)> work;
  bool is_small = false;
};

/// A thread that works through jobs one by one. How many wait is bounded by the connections: each has one at most.
class Lane final {
 public:
  struct Job {
    std::function<void()> work;
    std::shared_ptr<std::atomic<bool>> nobody_waits;
  };
  explicit Lane(std::string name) : name_{std::move(name)} {}
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void start();
  void add(Job job);
  /// What waits is forgotten, what runs is told.
  void request_stop();
  void join();

 private:
  void run();

  const std::string name_;
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::shared_ptr<std::atomic<bool>> running_;
  bool stopping_ = false;
  std::thread thread_;
};

/// Has the calling thread give way to others: what is served here never takes time from what is stored.
void give_way();

}  // namespace inboxd::admin
