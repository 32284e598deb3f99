#pragma once
#include <thread>

#include "../../base/mutex.hpp"

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

  inboxd::base::Mutex mutex_;
  inboxd::base::Condition changed_;
  bool shall_end_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace exec_handler
