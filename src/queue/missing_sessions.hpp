#pragma once
#include <chrono>
#include <string>

#include "base/mutex.hpp"

namespace inboxd::dispatcher {

/// The workers of a handler that have no database session and so take no events. Any thread.
class MissingSessions final {
 public:
  using Clock = std::chrono::steady_clock;

  struct State {
    int workers = 0;
    Clock::duration lasting{0};  ///< since the first of them lost its session
    std::string error;           ///< the last refusal
  };

  /// Counts a worker for as long as it lives.
  class Worker final {
   public:
    explicit Worker(MissingSessions& all) : all_{all} { all_.add(1); }
    ~Worker() { all_.add(-1); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    void note(const std::string& error) const { all_.note(error); }

   private:
    MissingSessions& all_;
  };

  State state() const {
    const base::Lock lock{mutex_};
    if (workers_ == 0) return {};
    return {workers_, Clock::now() - since_, error_};
  }

 private:
  void add(int workers) {
    const base::Lock lock{mutex_};
    if (workers_ == 0) since_ = Clock::now();
    workers_ += workers;
  }
  void note(const std::string& error) {
    const base::Lock lock{mutex_};
    error_ = error;
  }

  mutable base::Mutex mutex_;
  int workers_ GUARDED_BY(mutex_) = 0;
  Clock::time_point since_ GUARDED_BY(mutex_){};
  std::string error_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::dispatcher
