#pragma once
#include <chrono>
#include <functional>
#include <string>

namespace inboxd::support {

using std::chrono::milliseconds;

/// The limit of waits for something that must happen; long, because machines that run tests stall for half a minute.
inline constexpr milliseconds patience{120'000};

/// Polls every millisecond until the condition holds; false at the timeout. For threads of this process, in a CHECK.
bool eventually(const std::function<bool()>& condition, milliseconds within = patience);

/// Polls until the condition holds; throws `not within 120 s: WHAT (STATE)` at the timeout.
void wait_until(const std::string& what, const std::function<bool()>& condition, milliseconds within = patience,
                const std::function<std::string()>& state = {});

/// Throws if the condition stops holding within that time: for events that must not happen. Keep the time short.
void holds_for(const std::string& what, milliseconds time, const std::function<bool()>& condition);

/// Milliseconds of the monotonic clock, which all processes of this machine share.
std::int64_t monotonic_ms();

}  // namespace inboxd::support
