#pragma once
#include <algorithm>
#include <span>
#include <string_view>

#include "base/logger.hpp"

namespace inboxd::base {

/// A kind of log line. The slug is a promise to scripts and dashboards; the text may be improved.
struct LogMessage {
  std::string_view slug;         ///< `consumer.halted`: the room that writes the line, and the event
  LogLevel level;                ///< the level of its calls
  std::string_view text;         ///< the fixed phrase of the line, without its facts
  std::string_view help;         ///< a sentence: the meaning of the line
  std::string_view remedy = {};  ///< a sentence: the operator's action; empty if none is needed
};

/// All kinds, sorted by slug. `config/messages.md` lists them for operators.
std::span<const LogMessage> log_messages();
/// Null if no kind has this slug.
inline const LogMessage* find_log_message(std::string_view slug) {
  const auto all = log_messages();
  const auto found = std::lower_bound(all.begin(), all.end(), slug,
                                      [](const LogMessage& message, std::string_view s) { return message.slug < s; });
  return found != all.end() && found->slug == slug ? &*found : nullptr;
}

}  // namespace inboxd::base
