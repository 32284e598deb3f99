#pragma once
#include <chrono>
#include <inboxd/handler.hpp>
#include <optional>
#include <string>

#include "answer.hpp"
#include "target.hpp"

namespace http_handler {

/// Whether the service may get events. Unhealthy until its first success; healthy until `failures` in a row. Pure, but
/// for the log. Not thread-safe.
class Health final {
 public:
  using Clock = std::chrono::steady_clock;

  Health(const HealthCheck& check, inboxd::Log log) : check_{check}, log_{log}, is_healthy_{check.url.empty()} {}

  bool is_healthy() const { return is_healthy_; }
  /// Whether a check is to begin; it is noted as begun.
  bool is_due(Clock::time_point now);
  void ended(const Answer& answer, Clock::time_point now);

  /// For events that come meanwhile.
  inboxd::Outcome unhealthy(Clock::time_point now) const;

 private:
  const HealthCheck& check_;
  inboxd::Log log_;
  bool is_healthy_;
  bool was_healthy_ = false;  ///< at any time
  bool is_running_ = false;   ///< a check
  int failures_ = 0;          ///< in a row
  std::string last_failure_ = "its first check has not ended";
  Clock::time_point next_{};
};

}  // namespace http_handler
