#include "relay/allowed_topics.hpp"

#include <algorithm>

#include "inbox/outbox.hpp"

namespace inboxd::relay {
namespace {

constexpr std::chrono::seconds read_interval{1};

}  // namespace

bool AllowedTopics::contains(std::string_view topic) const {
  if (configured_.empty() || of_dead_letters_.contains(topic)) return true;
  return std::any_of(configured_.begin(), configured_.end(), [&](const std::string& allowed) {
    const std::string_view prefix = std::string_view{allowed}.substr(0, allowed.size() - 1);
    return allowed.ends_with('*') ? topic.starts_with(prefix) : topic == allowed;
  });
}

void AllowedTopics::look_up(std::string_view topic) {
  if (contains(topic) || Clock::now() < next_read_) return;
  next_read_ = Clock::now() + read_interval;
  of_dead_letters_ = inbox::dead_letter_topics(connection_);
}

}  // namespace inboxd::relay
