#pragma once
#include <chrono>
#include <cstdint>

#include "config/settings.hpp"

/// How a retry policy spaces its attempts, as far as that is certain. Pure functions.
namespace inboxd::config {

/// The wait after the failed attempt number `attempt` (1 = the first), before its jitter: the growth, up to its cap.
std::chrono::milliseconds delay_after(const Retry& retry, std::int32_t attempt);

/// The longest that all waits together take, from the first attempt to the last.
std::chrono::milliseconds longest_span(const Retry& retry);

}  // namespace inboxd::config
