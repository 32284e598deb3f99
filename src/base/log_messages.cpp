#include "base/log_messages.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "base/log_messages_from_handler.hpp"
#include "base/log_messages_to_dispatcher.hpp"

namespace inboxd::base {
namespace {

constexpr auto messages = [] {
  std::array<LogMessage, log_messages_to_dispatcher.size() + log_messages_from_handler.size()> out;
  std::ranges::copy(log_messages_from_handler, std::ranges::copy(log_messages_to_dispatcher, out.begin()).out);
  return out;
}();

static_assert(std::ranges::adjacent_find(messages, std::greater_equal{}, &LogMessage::slug) == messages.end());

}  // namespace

std::span<const LogMessage> log_messages() { return messages; }

}  // namespace inboxd::base
