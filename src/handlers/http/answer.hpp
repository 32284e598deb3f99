#pragma once
#include <curl/curl.h>

#include <chrono>
#include <inboxd/handler.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "target.hpp"

namespace http_handler {

/// How an exchange with the service ended.
struct Answer {
  CURLcode code = CURLE_OK;
  std::string error;        ///< curl's, if it failed
  long status = 0;          ///< 0: not even a status came
  bool is_whole = true;     ///< false: the body is longer than `max_body`, and the rest was not read
  bool is_refused = false;  ///< the address is link-local
  bool has_connected = false;
  std::string body;
  std::string retry_after, content_type;  ///< headers
};

/// The outcome of the request as a whole. Pure.
inboxd::Outcome outcome_of(const Target& target, const Answer& answer, std::chrono::system_clock::time_point now);

/// A sentence on an answer whose verdicts were perhaps meant otherwise than they were read. Pure.
std::optional<std::string> doubt_about(const Target& target, const Answer& answer);

/// Whether the connection was lost before anything of an answer came, so that the service may have died on the event.
bool is_reset(const Answer& answer);

/// The outcomes of the events of a batch by its 2xx answer, in their order. An event without a verdict is done. A
/// mistake in the verdicts is a retry of all. Pure.
std::vector<inboxd::Outcome> outcomes_in(const Target& target, const Answer& answer,
                                         const std::vector<inboxd::Event>& events);

}  // namespace http_handler
