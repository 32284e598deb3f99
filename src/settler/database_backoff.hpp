#pragma once
#include <chrono>
#include <string>
#include <utility>

#include "base/backoff.hpp"
#include "base/logger.hpp"
#include "inbox/database_error.hpp"

namespace inboxd::settler {

/// The waits of a service loop while its database fails. Logs the failures without flooding the log. Not thread-safe.
class DatabaseBackoff final {
 public:
  struct Limits {
    std::chrono::milliseconds first{100};     ///< wait after the first of several failures; doubled each time
    std::chrono::milliseconds last{5'000};    ///< the longest wait; also after a failure that waiting does not cure
    std::chrono::milliseconds quiet{30'000};  ///< between two log lines about the same fault
  };

  /// The part of the program that logs.
  enum class Part { settler, dispatcher };

  /// `about` is a field of the log lines: the work that is affected.
  DatabaseBackoff(Part part, base::Logger& log, Limits limits, std::string about = "everything");
  DatabaseBackoff(Part part, base::Logger& log) : DatabaseBackoff{part, log, Limits{}} {}

  /// Notes a failure; returns the time to wait.
  std::chrono::milliseconds failed(const inbox::DatabaseFailure& failure, std::chrono::steady_clock::time_point now);
  /// Notes a success.
  void worked();

 private:
  void log_failure(const inbox::DatabaseFailure& failure, std::chrono::milliseconds wait);

  Part part_;
  std::string about_;
  base::Logger& log_;
  Limits limits_;
  base::Backoff waits_;
  int failures_ = 0;
  inbox::Fault last_fault_ = inbox::Fault::retry;
  std::chrono::steady_clock::time_point log_again_{};
};

}  // namespace inboxd::settler
