#pragma once
#include <inboxd/handler.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Events as a child process sees them.
namespace exec_handler {

/// The event as a line of JSON, with its end of line. A payload that is JSON is `body`, unchanged; any other payload is
/// `payload_base64`, and with `raw` every payload is; a tombstone has body null and `"tombstone": true`.
std::string line_of(const inboxd::Event& event, bool raw);

/// For a process of a single event: INBOXD_EVENT_ID, INBOXD_TOPIC, INBOXD_TYPE, INBOXD_KEY, INBOXD_ATTEMPT and so on,
/// each as NAME=VALUE. Without variables that are null, have a 0 byte, or are longer than 64 KiB.
std::vector<std::string> variables_of(const inboxd::Event& event);

}  // namespace exec_handler
