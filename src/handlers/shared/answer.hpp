#pragma once
#include <cstdint>
#include <inboxd/handler.hpp>
#include <optional>
#include <string>
#include <string_view>

/// The verdict of a program or service on an event, as JSON.
namespace handlers {

struct Answer {
  std::string event_id;  ///< a UUID in its usual spelling, or any other text
  inboxd::Outcome outcome;
  std::optional<std::int64_t> attempt;  ///< that it answers, if it says so
};

/// Reads `{"event_id": …, "outcome": "done" | "retry" | "defer" | "dead" | "skipped", "delay": "30s", "error": …,
/// "message": …, "attempt": 1}`. A null is as if absent. nullopt: it is no answer; `why` names the mistake.
std::optional<Answer> answer_of(std::string_view json, std::string& why);

}  // namespace handlers
