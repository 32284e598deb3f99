#include "config/settings.hpp"

#include <algorithm>
#include <cmath>

namespace inboxd::config {
namespace {

/// Beyond any cap; keeps the exponent finite.
constexpr std::int32_t max_doublings = 62;

/// In milliseconds; a double, because a large attempt would overflow an integer.
double growth(const Retry& retry, std::int32_t attempt) {
  const auto base = static_cast<double>(retry.base.count());
  switch (retry.backoff) {
    case Backoff::fixed:
      return base;
    case Backoff::linear:
      return base * attempt;
    case Backoff::exponential:
      return std::ldexp(base, std::min(attempt - 1, max_doublings));
  }
  return base;
}

const char* word_of(OnFailure on_failure) {
  switch (on_failure) {
    case OnFailure::park:
      return "park";
    case OnFailure::skip:
      return "skip";
    case OnFailure::block:
      break;
  }
  return "block";
}

const char* word_of(MissingKey missing_key) {
  switch (missing_key) {
    case MissingKey::partition:
      return "partition";
    case MissingKey::shared:
      return "shared";
    case MissingKey::unordered:
      break;
  }
  return "unordered";
}

}  // namespace

std::chrono::milliseconds delay_after(const Retry& retry, std::int32_t attempt) {
  const double grown = growth(retry, std::max(attempt, 1));
  return std::chrono::milliseconds{std::llround(std::min(grown, static_cast<double>(retry.cap.count())))};
}

std::string_view word_of(RetryRule::Then then) {
  switch (then) {
    case RetryRule::Then::dead:
      return "dead";
    case RetryRule::Then::pause:
      return "pause";
    default:
      return "retry";
  }
}

std::optional<double> rate_per_second(const Handler& handler) {
  const std::string& text = handler.rate;
  const auto slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const double per = text.back() == 's' ? 1 : text.back() == 'm' ? 60 : 3'600;
  return std::stod(text.substr(0, slash)) / per;
}

const RetryRule* rule_for(const Retry& retry, std::string_view error_class) {
  for (const RetryRule& rule : retry.rules) {
    const bool is_prefix = rule.error.ends_with('*');
    const std::string_view wanted = std::string_view{rule.error}.substr(0, rule.error.size() - (is_prefix ? 1 : 0));
    if (is_prefix ? error_class.starts_with(wanted) : error_class == wanted) return &rule;
  }
  return nullptr;
}

std::string order_text(const Handler& handler) {
  if (handler.mode == Mode::single) return "single";
  if (handler.mode == Mode::batch) return "batch";
  const bool is_of_handler = order_scope_of(handler) == OrderScope::handler;
  return std::string{"sequential/"} + (is_of_handler ? "handler/" : "partition/") + word_of(handler.on_failure) + "/" +
         word_of(handler.missing_key) + "/" + handler.order_by;
}

std::chrono::milliseconds max_span(const Retry& retry) {
  std::chrono::milliseconds sum{0};
  for (std::int32_t attempt = 1; attempt < retry.max_attempts; ++attempt) sum += delay_after(retry, attempt);
  return std::chrono::milliseconds{std::llround(static_cast<double>(sum.count()) * (1.0 + retry.jitter))};
}

}  // namespace inboxd::config
