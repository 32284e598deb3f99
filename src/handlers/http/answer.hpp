#pragma once
#include <curl/curl.h>

#include <chrono>
#include <inboxd/handler.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../shared/answer.hpp"
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
  std::string retry_after;  ///< the header
};

/// The outcome of one event that was sent by itself, or of all of a batch. Pure.
inboxd::Outcome outcome_of(const Target& target, const Answer& answer, std::chrono::system_clock::time_point now);

/// Whether the connection was lost before anything of an answer came, so that the service may have died on the event.
bool is_reset(const Answer& answer);

/// Verdicts on events of a batch, in a 2xx answer. Empty: none, so all are done. Throws std::runtime_error with the
/// mistake.
std::vector<handlers::Answer> verdicts_in(const Answer& answer);

}  // namespace http_handler
