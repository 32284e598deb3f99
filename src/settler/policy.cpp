#include "settler/policy.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "config/retry.hpp"

namespace inboxd::settler {

double random01() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(generator);
}

std::chrono::milliseconds backoff_for(const config::Retry& retry, std::int32_t attempt, double random01) {
  const auto capped = static_cast<double>(config::delay_after(retry, attempt).count());
  const double factor = 1.0 + retry.jitter * (2.0 * random01 - 1.0);
  return std::chrono::milliseconds{std::llround(std::max(0.0, capped * factor))};
}

Transition transition_for(const Verdict& verdict, std::int32_t attempts, const config::Retry& retry, double random01) {
  if (verdict.kind == Verdict::Kind::done) return Done{};
  const std::int64_t attempt = std::int64_t{attempts} + 1;
  if (verdict.kind == Verdict::Kind::dead || attempt >= retry.max_attempts) return Dead{};
  if (verdict.delay) return RetryIn{std::max(*verdict.delay, std::chrono::milliseconds{0})};
  return RetryIn{backoff_for(retry, static_cast<std::int32_t>(attempt), random01)};
}

}  // namespace inboxd::settler
