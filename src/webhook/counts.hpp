#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::webhook {

/// Requests by topic and outcome, since the start. Any thread. Topics are those of the configuration; empty: none.
class Counts final {
 public:
  using Requests = std::map<std::pair<std::string, std::string>, std::uint64_t>;

  void add(const std::string& topic, const std::string& outcome) {
    const base::Lock lock{mutex_};
    ++requests_[{topic, outcome}];
  }
  Requests requests() const {
    const base::Lock lock{mutex_};
    return requests_;
  }

 private:
  mutable base::Mutex mutex_;
  Requests requests_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::webhook
