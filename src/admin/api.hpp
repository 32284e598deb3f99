#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "admin/http_message.hpp"
#include "admin/operation.hpp"

namespace inboxd::admin {

/// What was given, by name, or why it cannot be read.
using Given = std::map<std::string, std::vector<std::string>>;

/// The parameters of a request as the table's row has them: of the query for what reads, of a JSON object for what
/// changes. `yes` is no parameter here: whoever posts means it.
std::variant<Given, HttpResponse> given_of(const HttpRequest& request, const Operation& operation);

/// The answer as a response. The document is the body, with `message` in it where there is something to say.
HttpResponse response_of(const Operation& operation, const Answer& answer);

/// And back, for the command line: the answer that a response stands for.
Answer answer_of(const HttpResponse& response);

/// The header that has the command line's exit status.
inline constexpr std::string_view exit_status_header = "inboxd-exit-status";

/// Whether a parameter is one over HTTP, too.
inline bool is_asked_over_http(const Parameter& parameter) { return parameter.name != "yes"; }

/// The OpenAPI 3.1 document of health, metrics and every operation.
Document openapi();
/// As it is served and kept in config/openapi.json.
std::string openapi_text();

}  // namespace inboxd::admin
