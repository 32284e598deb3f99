#include "settler/policy.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace inboxd::settler {
namespace {

/// Doubling more often than this is beyond any cap: keeps the exponent finite.
constexpr std::int32_t most_doublings = 62;

/// Before cap and jitter, in milliseconds. Double: a large attempt must not overflow.
double growth(const config::Retry& retry, std::int32_t attempt) {
  const auto base = static_cast<double>(retry.base.count());
  switch (retry.backoff) {
    case config::Backoff::fixed: return base;
    case config::Backoff::linear: return base * attempt;
    case config::Backoff::exponential: return std::ldexp(base, std::min(attempt - 1, most_doublings));
  }
  return base;
}

}  // namespace

double random01() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(generator);
}

std::chrono::milliseconds backoff_for(const config::Retry& retry, std::int32_t attempt, double random01) {
  const double grown = growth(retry, std::max(attempt, 1));
  const double capped = std::min(grown, static_cast<double>(retry.cap.count()));
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
