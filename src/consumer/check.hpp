#pragma once
#include <string>
#include <vector>

#include "config/settings.hpp"

namespace inboxd::consumer {

/// One thing that `inboxd check` looked at.
struct Finding {
  bool ok = false;
  std::string subject;                         ///< `brokers`, `topic orders`
  std::string message;                         ///< what was found and, where it is not ok, what would be right
};

/// Asks the brokers: reachable, properties accepted, every configured topic there and readable. Blocks for seconds.
std::vector<Finding> check_brokers(const config::Settings& settings);

}  // namespace inboxd::consumer
