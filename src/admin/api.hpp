#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "admin/http_message.hpp"
#include "operations/operation.hpp"

namespace inboxd::admin {

/// Arguments by name.
using Given = std::map<std::string, std::vector<std::string>>;

/// The arguments of a request for an operation: in the query of a read, in the JSON body of a change. `yes` is no
/// parameter over HTTP: a POST needs no confirmation.
std::variant<Given, HttpResponse> given_of(const HttpRequest& request, const operations::Operation& operation);

/// The name of the plan in these arguments, which it leaves without: field `plan` of a dry run. Empty: none.
std::string take_plan(Given& given);
/// Of a change: the plan's name. Not an operation's own parameter, because the command line keeps its plan itself.
inline constexpr const char* plan_name = "plan";

/// The answer as a response. The body is the document, with a `message` if the answer has a message.
HttpResponse response_of(const operations::Operation& operation, const operations::Answer& answer);

/// The inverse, for the command line.
operations::Answer answer_of(const HttpResponse& response);

/// The header with the command line's exit status.
inline constexpr std::string_view exit_status_header = "inboxd-exit-status";

/// Whether HTTP accepts a parameter.
inline bool is_asked_over_http(const operations::Parameter& parameter) { return parameter.name != "yes"; }

/// The OpenAPI 3.1 document of health, metrics and every operation.
operations::Document openapi();
/// As served and as stored in config/openapi.json.
std::string openapi_text();

}  // namespace inboxd::admin
