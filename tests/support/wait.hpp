#pragma once
#include <chrono>
#include <functional>
#include <string>

namespace inboxd::support {

using std::chrono::milliseconds;

/// What most conditions of a busy machine are given.
inline constexpr milliseconds patience{30'000};

/// Polls until the condition holds; false where it does not in time. For what threads of this process do, and a CHECK:
/// it looks every millisecond.
bool eventually(const std::function<bool()>& condition, milliseconds within = patience);

/// Polls until the condition holds; throws `not within 30 s: WHAT (STATE)` where it does not in time.
void wait_until(const std::string& what, const std::function<bool()>& condition, milliseconds within = patience,
                const std::function<std::string()>& state = {});

/// Throws where the condition stops holding within that time: for what must not happen. Keep the time short.
void holds_for(const std::string& what, milliseconds time, const std::function<bool()>& condition);

/// Milliseconds of the monotonic clock, the same in every process of this machine.
std::int64_t monotonic_ms();

}  // namespace inboxd::support
