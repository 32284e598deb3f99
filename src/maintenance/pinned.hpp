#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "inbox/upkeep.hpp"

namespace inboxd::maintenance {

/// For how long the same transaction has kept vacuum from cleaning up: as long as the server says, or, where it says
/// nothing, as it has been seen here. One thread.
class Pinned final {
 public:
  using Clock = std::chrono::steady_clock;
  /// What was found now; 0 s where nobody is in the way.
  std::chrono::seconds look(const std::optional<inbox::OldestTransaction>& oldest, Clock::time_point now);

 private:
  std::string id_;
  Clock::time_point since_{};
};

}  // namespace inboxd::maintenance
