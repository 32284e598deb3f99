#pragma once
#include <chrono>
#include <mutex>
#include <string>

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
    const std::lock_guard lock{mutex_};
    if (workers_ == 0) return {};
    return {workers_, Clock::now() - since_, error_};
  }

 private:
  void add(int workers) {
    const std::lock_guard lock{mutex_};
    if (workers_ == 0) since_ = Clock::now();
    workers_ += workers;
  }
  void note(const std::string& error) {
    const std::lock_guard lock{mutex_};
    error_ = error;
  }

  mutable std::mutex mutex_;  // guards the following
  int workers_ = 0;
  Clock::time_point since_{};
  std::string error_;
};

}  // namespace inboxd::dispatcher
