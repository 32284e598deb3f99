#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "config/settings.hpp"

/// What becomes of an event after its handler has spoken: pure functions, no clock, no database.
namespace inboxd::settler {

/// What was said of one event: by its handler, or by the dispatcher in its place (a deadline, a crash).
struct Verdict {
  enum class Kind { done, retry, dead };
  Kind kind = Kind::done;
  std::optional<std::chrono::milliseconds> delay;  ///< retry: the handler's own wish, else the policy's backoff
  std::string error_class;
  std::string message;
};

/// For the jitter of retries: nothing depends on it being hard to guess. Any thread.
double random01();

struct Done {
  bool operator==(const Done&) const = default;
};
struct RetryIn {
  std::chrono::milliseconds delay{0};
  bool operator==(const RetryIn&) const = default;
};
struct Dead {
  bool operator==(const Dead&) const = default;
};
using Transition = std::variant<Done, RetryIn, Dead>;

/// The wait after the failed attempt number `attempt` (1 = the first): the policy's growth, its cap, then its jitter,
/// so at most cap * (1 + jitter). `random01` is in [0, 1).
std::chrono::milliseconds backoff_for(const config::Retry& retry, std::int32_t attempt, double random01);

/// What a verdict leads to. `attempts` is how many failures were settled before: this was attempt `attempts + 1`. A
/// delay that the handler asked for is kept as it is, without jitter.
Transition transition_for(const Verdict& verdict, std::int32_t attempts, const config::Retry& retry, double random01);

}  // namespace inboxd::settler
