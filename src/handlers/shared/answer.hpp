#pragma once
#include <inboxd/handler.hpp>
#include <optional>
#include <string>
#include <string_view>

/// The verdict of a program or service on one event, as JSON.
namespace handlers {

struct Answer {
  std::string event_id;
  inboxd::Outcome outcome;
};

/// Reads `{"event_id": …, "outcome": "done" | "retry" | "dead" | "skipped", "delay": "30s", "error": …, "message": …}`.
/// nullopt: it is none; `why` names the mistake.
std::optional<Answer> answer_of(std::string_view json, std::string& why);

}  // namespace handlers
