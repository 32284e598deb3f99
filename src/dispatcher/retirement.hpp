#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "dispatcher/worker.hpp"
#include "plugin/plugin.hpp"

namespace inboxd::dispatcher {

/// Ends instances of handlers, one after the other, on a thread of its own: a plugin's `destroy` takes as long as it
/// likes, and may never return, so that neither the calls of others nor a reload may wait for it. Any thread.
class Retirement final {
 public:
  using Clock = std::chrono::steady_clock;

  /// `ends`: where a thread is counted that had to be left behind.
  explicit Retirement(std::shared_ptr<Ends> ends);
  ~Retirement();
  Retirement(const Retirement&) = delete;
  Retirement& operator=(const Retirement&) = delete;

  /// No call of the instance runs any more. Somebody else may still hold it (a call that was given up), then it ends
  /// with them.
  void take(std::string handler, std::shared_ptr<plugin::Instance> instance);

  /// The handler whose instance has been ending since before that moment; each is named once.
  std::optional<std::string> overdue(Clock::time_point since);

  /// Waits for all that were taken, until the deadline at most. False: one does not return, and the thread is left to
  /// it. Once.
  bool finish(Clock::time_point deadline);

 private:
  struct Queue;
  static void work(Queue& queue);

  const std::shared_ptr<Ends> ends_;
  const std::shared_ptr<Queue> queue_;  ///< the thread's, too, which may outlive this
  std::thread thread_;
};

}  // namespace inboxd::dispatcher
