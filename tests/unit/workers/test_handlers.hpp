#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/wait.hpp"
#include "workers/dispatcher.hpp"

/// Handlers of tests, and what they do with their events.
namespace inboxd::test {

using support::eventually;
using Ids = std::vector<std::int64_t>;

/// A test's handler: the verdict on one event. Made of a function of the event's offset, or of event and cancellation;
/// without a result the event is done.
class HandlerFunction {
 public:
  template <class Function>
    requires std::is_invocable_v<Function, std::int64_t> ||
             std::is_invocable_v<Function, const plugin::Delivered&, const plugin::Cancellation&>
  HandlerFunction(Function function) {  // NOLINT(google-explicit-constructor): tests pass lambdas
    if constexpr (std::is_invocable_v<Function, std::int64_t>) {
      function_ = [function](const plugin::Delivered& each, const auto&) {
        return verdict(function, each.event->offset);
      };
    } else {
      function_ = [function](const auto&... of) { return verdict(function, of...); };
    }
  }
  event::Verdict operator()(const plugin::Delivered& each, const plugin::Cancellation& cancellation) const {
    return function_(each, cancellation);
  }

 private:
  template <class Function, class... Of>
  static event::Verdict verdict(const Function& function, const Of&... of) {
    if constexpr (std::is_void_v<std::invoke_result_t<const Function&, const Of&...>>) {
      function(of...);
      return {};
    } else {
      return function(of...);
    }
  }

  std::function<event::Verdict(const plugin::Delivered&, const plugin::Cancellation&)> function_;
};

class FunctionInstance final : public plugin::Instance {
 public:
  explicit FunctionInstance(HandlerFunction function) : function_{std::move(function)} {}
  std::vector<event::Verdict> handle(std::span<const plugin::Delivered> events,
                                     const plugin::Cancellation& cancellation,
                                     std::chrono::steady_clock::time_point) override {
    std::vector<event::Verdict> out;
    for (const auto& each : events) out.push_back(function_(each, cancellation));
    return out;
  }

 private:
  HandlerFunction function_;
};

inline void handle_done(std::int64_t /*offset*/) {}

inline event::Verdict retry(std::string error_class = "busy",
                            std::optional<std::chrono::milliseconds> delay = std::nullopt) {
  return {event::Verdict::Kind::retry, delay, std::move(error_class), "made up"};
}
inline event::Verdict dead(std::string error_class) {
  return {event::Verdict::Kind::dead, std::nullopt, std::move(error_class), "made up"};
}
inline void wait_for(const plugin::Cancellation& cancellation) {
  while (!cancellation.requested) std::this_thread::yield();
}

/// The offsets that a handler was called with, in the order of the calls.
struct SeenEvents {
  std::mutex mutex;
  Ids offsets;
  void note(std::int64_t offset) {
    const std::lock_guard lock{mutex};
    offsets.push_back(offset);
  }
  Ids read() {
    const std::lock_guard lock{mutex};
    return offsets;
  }
  std::size_t count() { return read().size(); }
};

/// Blocks calls until it is opened. Copies are the same latch, because an abandoned call may outlive the test.
class Latch {
 public:
  void wait() const {
    ++state_->waiting;
    std::unique_lock lock{state_->mutex};
    state_->changed.wait(lock, [this] { return state_->is_open; });
    --state_->waiting;
  }
  void open() const {
    const std::lock_guard lock{state_->mutex};
    state_->is_open = true;
    state_->changed.notify_all();
  }
  int waiting() const { return state_->waiting; }
  /// Soon a call waits.
  bool blocks() const {
    return eventually([this] { return waiting() == 1; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;
    std::atomic<int> waiting{0};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// A handler that waits for the latch in each call, or in that of one event, and is done then.
inline HandlerFunction block_on(const Latch& latch, std::optional<std::int64_t> only = std::nullopt) {
  return [latch, only](std::int64_t offset) {
    if (offset == only.value_or(offset)) latch.wait();
  };
}

struct HandlerOptions {
  int concurrency = 2;
  int events_per_call = 1;
  std::chrono::milliseconds deadline = config::Handler{}.deadline;
  std::chrono::milliseconds lease = config::Handler{}.lease;
  int group = config::Handler{}.group;
  int fuse = 0;
};
inline config::Handler handler(const HandlerOptions& options = {}) {
  config::Handler out;
  out.name = "test";
  out.mode = config::Mode::single;
  out.concurrency = options.concurrency;
  out.events_per_call = options.events_per_call;
  out.deadline = options.deadline;
  out.lease = options.lease;
  out.group = options.group;
  out.fuse_failures = options.fuse;
  return out;
}

using Setups = std::vector<dispatcher::HandlerSetup>;
inline Setups setup(std::unique_ptr<plugin::Instance> instance, config::Handler settings = handler(),
                    std::int32_t handler_id = 7) {
  Setups out;
  out.push_back({handler_id, std::move(settings), std::move(instance), false});
  return out;
}
inline Setups setup(HandlerFunction function, config::Handler settings = handler(), std::int32_t handler_id = 7) {
  return setup(std::make_unique<FunctionInstance>(std::move(function)), std::move(settings), handler_id);
}
inline Setups both(Setups one, Setups other) {
  for (auto& each : other) one.push_back(std::move(each));
  return one;
}

}  // namespace inboxd::test
