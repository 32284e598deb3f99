#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace inboxd::transaction {

/// Whether a handler's statement finds values at the paths of `body` that it reads. It looks at every call until an
/// event has a value, and then again after a minute. Outlives a reload. Any thread.
class BodyWatch final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds between_looks{60};

  struct Seen {
    std::int64_t without_value = 0;  ///< consecutive events, among the events that were looked at
    std::vector<std::string> paths;  ///< of the statement
  };

  bool is_due(Clock::time_point now) const {
    const base::Lock lock{mutex_};
    return now >= next_look_;
  }
  /// `events` of a call were looked at; `with_value` of them have a value at any of the paths.
  void add(const std::vector<std::string>& paths, std::int64_t events, std::int64_t with_value,
           Clock::time_point now) {
    const base::Lock lock{mutex_};
    if (paths != seen_.paths) seen_ = {0, paths};  // a reload has brought another statement
    seen_.without_value = with_value > 0 ? 0 : seen_.without_value + events;
    if (with_value > 0) next_look_ = now + between_looks;
  }
  Seen seen() const {
    const base::Lock lock{mutex_};
    return seen_;
  }

 private:
  mutable base::Mutex mutex_;
  Clock::time_point next_look_ GUARDED_BY(mutex_){};
  Seen seen_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::transaction
