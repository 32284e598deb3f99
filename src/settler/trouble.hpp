#pragma once
#include <chrono>
#include <string>

#include "base/log.hpp"
#include "inbox/database_error.hpp"

namespace inboxd::settler {

/// How a service loop bears a database that fails: how long to wait before the next try, and what to log without
/// flooding. One thread.
class Trouble final {
 public:
  struct Limits {
    std::chrono::milliseconds first{100};      ///< wait after the first failure in a row; doubled each time
    std::chrono::milliseconds last{5'000};     ///< the longest wait; also after what time does not mend
    std::chrono::milliseconds quiet{30'000};   ///< between two lines about the same
  };

  /// `part` begins the log's sentences: `settler`. `about` is a fact of theirs: whose work it is.
  Trouble(std::string part, base::Logger& log, Limits limits, std::string about = "everything");
  Trouble(std::string part, base::Logger& log) : Trouble{std::move(part), log, Limits{}} {}

  /// Notes a failure; returns how long to wait.
  std::chrono::milliseconds failed(const inbox::DatabaseFailure& failure, std::chrono::steady_clock::time_point now);
  /// Notes that it works.
  void worked();

 private:
  void log_failure(const inbox::DatabaseFailure& failure, std::chrono::milliseconds wait);

  std::string part_, about_;
  base::Logger& log_;
  Limits limits_;
  int failures_ = 0;
  inbox::Fault last_fault_ = inbox::Fault::retry;
  std::chrono::steady_clock::time_point log_again_{};
};

}  // namespace inboxd::settler
