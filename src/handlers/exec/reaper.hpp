#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

namespace exec_handler {

/// Reaps orphans of the handler's programs, once a second: a program in mode stream may live for ever, and would
/// otherwise leave a zombie for each of its own. The destructor ends the thread.
class Reaper final {
 public:
  Reaper();
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

 private:
  void run();

  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  bool shall_end_ = false;

  std::thread thread_;
};

}  // namespace exec_handler
