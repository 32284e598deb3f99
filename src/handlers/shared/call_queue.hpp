#pragma once
#include <inboxd/handler.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../../base/mutex.hpp"

namespace handlers {

/// Asynchronous calls on their way to a handler's own thread. The thread is woken by `Wake`, a function, under the
/// lock: what it wakes may be replaced under `locked`.
class CallQueue final {
 public:
  using Calls = std::vector<std::unique_ptr<inboxd::OpenCall>>;

  /// Any thread.
  template <class Wake>
  void add(std::unique_ptr<inboxd::OpenCall> call, Wake wake) {
    const inboxd::base::Lock lock{mutex_};
    calls_.push_back(std::move(call));
    if (calls_.size() == 1) wake();
  }
  /// `take` ends the thread once the calls are taken.
  template <class Wake>
  void stop(Wake wake) {
    const inboxd::base::Lock lock{mutex_};
    stops_ = true;
    wake();
  }
  /// The new calls; nullopt: the handler ends.
  std::optional<Calls> take() {
    const inboxd::base::Lock lock{mutex_};
    if (stops_ && calls_.empty()) return std::nullopt;
    return std::exchange(calls_, {});
  }
  template <class Change>
  void locked(Change change) {
    const inboxd::base::Lock lock{mutex_};
    change();
  }

 private:
  inboxd::base::Mutex mutex_;
  Calls calls_ GUARDED_BY(mutex_);
  bool stops_ GUARDED_BY(mutex_) = false;
};

}  // namespace handlers
