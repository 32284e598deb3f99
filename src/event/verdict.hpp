#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::event {

/// The error class of a failure for which the handler named none.
inline constexpr std::string_view unnamed_class = "failed";
/// Of an event that a cancelled handler did not come to.
inline constexpr std::string_view cancelled_class = "cancelled";

/// The verdict of a call on an event. The handler returns it, or another part of the daemon does in its place: the
/// plugin room (`no-verdict`, `bad-verdict`, `exception`, `cancelled`) or the dispatcher (a deadline, a crash).
struct Verdict {
  /// skipped: the handler has no use for the event. away, pause: not handled, and no attempt; the handler makes no
  /// call for `delay`, or until an operator resumes it. defer: the event is tried again after `delay`, uncharged.
  enum class Kind { done, retry, dead, skipped, away, pause, defer };
  Kind kind = Kind::done;
  /// retry, away, defer: the delay that the handler asks for; otherwise the policy's backoff.
  std::optional<std::chrono::milliseconds> delay;
  std::string error_class;  ///< short, dotted (`timeout`, `validation.amount`); may be empty
  std::string message;
  bool is_finished() const { return kind == Kind::done || kind == Kind::skipped; }
  bool is_failure() const { return kind == Kind::retry || kind == Kind::dead; }
};

}  // namespace inboxd::event
