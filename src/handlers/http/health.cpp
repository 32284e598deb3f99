#include "health.hpp"

#include <algorithm>

namespace http_handler {

bool Health::is_due(Clock::time_point now) {
  if (check_.url.empty() || now < next_) return false;
  next_ = now + std::max(check_.every, check_.timeout);  // replaced when the check ends
  is_running_ = true;
  return true;
}

void Health::ended(const Answer& answer, Clock::time_point now) {
  next_ = now + check_.every;
  is_running_ = false;
  if (answer.code == CURLE_OK && answer.status >= 200 && answer.status < 300) {
    failures_ = 0;
    if (!is_healthy_) log_.info("the service is healthy, its events are sent");
    is_healthy_ = was_healthy_ = true;
    return;
  }
  last_failure_ = answer.code == CURLE_OK ? "it was answered " + std::to_string(answer.status) : answer.error;
  ++failures_;
  const bool has_changed = is_healthy_ && failures_ >= check_.failures;
  if (has_changed || (!was_healthy_ && failures_ == 1)) {
    log_.warn("the service is unhealthy, its events wait: GET of health.path: " + last_failure_);
  }
  if (has_changed) is_healthy_ = false;
}

inboxd::Outcome Health::unhealthy(Clock::time_point now) const {
  constexpr std::chrono::milliseconds soon{50};  // a check that runs now may end by then
  const auto left = is_running_ ? soon : std::chrono::duration_cast<inboxd::Milliseconds>(next_ - now);
  return inboxd::away(std::max<inboxd::Milliseconds>(left, soon), "the service is unhealthy: " + last_failure_,
                      "http.unhealthy");
}

}  // namespace http_handler
