#pragma once
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::relay {

/// The topics that the relay may send to: the topics of `outbox.topics`, and topics for dead letters, which a handler's
/// configuration has named already. The relay's thread.
class AllowedTopics final {
 public:
  /// `configured`: exact or prefix*; empty: all.
  AllowedTopics(const std::vector<std::string>& configured, inbox::Connection& connection)
      : configured_{configured}, connection_{connection} {}

  bool contains(std::string_view topic) const;
  /// Before messages for `topic` are judged: reads the topics for dead letters if it is not allowed yet, once a second.
  void look_up(std::string_view topic);

 private:
  using Clock = std::chrono::steady_clock;

  const std::vector<std::string>& configured_;
  inbox::Connection& connection_;
  std::set<std::string, std::less<>> of_dead_letters_;
  Clock::time_point next_read_{};
};

}  // namespace inboxd::relay
