#pragma once
#include <chrono>
#include <string>

#include "admin/http_message.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"

namespace inboxd::admin {

/// A request to a running daemon.
struct Question {
  std::string method = "GET";
  std::string target;  ///< path and query
  std::string body;
  std::string actor;  ///< the caller, for the audit
};

/// Asks the daemon of this configuration over its Unix socket or, without a socket, over its port. Sends a token only
/// with a target below /v1/, and only over the socket or to an address of this machine. Blocks for `timeout` at most.
base::Result<HttpResponse> ask(const config::Admin& settings, const Question& question,
                               std::chrono::milliseconds timeout);

/// Percent-encodes a part of a query.
std::string encoded(std::string_view text);

}  // namespace inboxd::admin
