#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "base/mutex.hpp"
#include "operations/operation.hpp"

namespace inboxd::admin {

/// The plans of dry runs over HTTP, which the change takes back, so that it does no more than a person has seen. A plan
/// may list a million ids: it stays here, and its name travels. Any thread.
class Plans final {
 public:
  using Clock = std::chrono::steady_clock;
  /// Of more than `max_plans` the oldest goes first.
  Plans(std::size_t max_plans, std::chrono::milliseconds max_age) : max_plans_{max_plans}, max_age_{max_age} {}

  /// Returns the plan's name. `change`: operation and arguments.
  std::string keep(const std::string& change, operations::Document plan, Clock::time_point now);
  /// null: not known, too old, or the plan of another change. A plan can be used again, for the rest of a change that
  /// was stopped.
  std::shared_ptr<const operations::Document> find(const std::string& name, const std::string& change,
                                                   Clock::time_point now);

 private:
  struct Plan {
    std::string name;
    std::string change;
    std::shared_ptr<const operations::Document> document;
    Clock::time_point kept_at;
  };

  void drop_old(Clock::time_point now) REQUIRES(mutex_);

  const std::size_t max_plans_;
  const std::chrono::milliseconds max_age_;
  base::Mutex mutex_;
  std::deque<Plan> plans_ GUARDED_BY(mutex_);  ///< oldest first
};

}  // namespace inboxd::admin
