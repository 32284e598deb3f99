#pragma once
#include <chrono>
#include <string>

#include "admin/http_message.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"

namespace inboxd::admin {

/// What to ask a running daemon.
struct Question {
  std::string method = "GET";
  std::string target;  ///< path and query
  std::string body;
  std::string actor;  ///< who asks, for the audit
};

/// Asks the daemon that the configuration is of, over its Unix socket where it has one, else over its port. Blocks at
/// most that long. The problem says that nobody answered, and where.
base::Result<HttpResponse> ask(const config::Admin& settings, const Question& question,
                               std::chrono::milliseconds timeout);

/// Encoded as part of a query.
std::string encoded(std::string_view text);

}  // namespace inboxd::admin
