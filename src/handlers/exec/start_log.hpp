#pragma once
#include <chrono>
#include <inboxd/handler.hpp>
#include <mutex>
#include <string>

namespace exec_handler {

/// Logs once that the program cannot be started, and once that it can again. Any thread.
class StartLog final {
 public:
  explicit StartLog(inboxd::Log log) : log_{log} {}

  void failed(const std::string& why) {
    const std::lock_guard lock{mutex_};
    const auto now = Clock::now();
    if (is_failing_ || now < next_) return;  // it comes and goes
    is_failing_ = true;
    next_ = now + every;
    log_.error(why + "; its events wait uncharged");
  }
  void succeeded() {
    const std::lock_guard lock{mutex_};
    if (is_failing_) log_.info("the program can be started again");
    is_failing_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds every{30};

  const inboxd::Log log_;
  std::mutex mutex_;  // guards the following
  bool is_failing_ = false;
  Clock::time_point next_{};
};

}  // namespace exec_handler
