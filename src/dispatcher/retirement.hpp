#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dispatcher/worker.hpp"
#include "plugin/plugin.hpp"

namespace inboxd::dispatcher {

/// Ends instances of handlers, each on a thread of its own: a plugin's `destroy` takes as long as it likes, and may
/// never return, so that neither the calls of others nor a reload, nor another instance's end, may wait for it. Any
/// thread.
class Retirement final {
 public:
  using Clock = std::chrono::steady_clock;

  /// `ends`: where threads are counted that had to be left behind.
  explicit Retirement(std::shared_ptr<Ends> ends) : ends_{std::move(ends)} {}
  ~Retirement();
  Retirement(const Retirement&) = delete;
  Retirement& operator=(const Retirement&) = delete;

  /// No call of the instance runs any more. Somebody else may still hold it (a call that was given up), then it ends
  /// with them. Where there is no thread for it, it ends here.
  void take(std::string handler, std::shared_ptr<plugin::Instance> instance);

  /// The handlers whose instances have been ending since before that moment; each is named once.
  std::vector<std::string> overdue(Clock::time_point since);

  /// Waits for all that were taken, until the deadline at most. Returns the handlers whose instances do not end, whose
  /// threads are left to them.
  std::vector<std::string> finish(Clock::time_point deadline);

 private:
  struct Ending;
  struct Entry {
    std::string handler;
    Clock::time_point since;
    std::shared_ptr<Ending> ending;  ///< the thread's, too, which may outlive this
    std::thread thread;
    bool is_named = false;
  };
  void dismiss_ended();

  const std::shared_ptr<Ends> ends_;
  std::mutex mutex_;  // guards the following
  std::list<Entry> entries_;
};

}  // namespace inboxd::dispatcher
