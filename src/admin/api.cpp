#include "admin/api.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace inboxd::admin {
namespace {

using base::ExitCode;
using Kind = operations::Parameter::Kind;

const operations::Parameter* find(const operations::Operation& operation, const std::string& name) {
  const auto found =
      std::find_if(operation.parameters.begin(), operation.parameters.end(),
                   [&](const operations::Parameter& one) { return one.name == name && is_asked_over_http(one); });
  return found == operation.parameters.end() ? nullptr : &*found;
}

HttpResponse unknown(const operations::Operation& operation, const std::string& name) {
  std::string known;
  for (const operations::Parameter& one : operation.parameters) {
    if (is_asked_over_http(one)) known += (known.empty() ? "" : ", ") + one.name;
  }
  return refusal(400, operation.verb + ": no parameter \"" + base::escape_controls(base::shorten(name, 60)) +
                          "\"; known: " + (known.empty() ? "none" : known));
}

/// A value of the JSON body as the command line would have it.
std::optional<std::string> text_of_json(const operations::Document& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  return std::nullopt;
}

std::variant<Given, HttpResponse> given_by_query(const HttpRequest& request, const operations::Operation& operation) {
  Given out;
  const auto query = query_of(request.query);
  if (!query) return refusal(400, "the query is not percent-encoded correctly");
  for (const auto& [name, value] : *query) {
    const operations::Parameter* const parameter = find(operation, name);
    if (parameter == nullptr) return unknown(operation, name);
    if (parameter->kind == Kind::flag) {
      if (value != "true" && value != "false") return refusal(400, name + ": pass true or false");
      if (value == "false") continue;
    }
    auto& values = out[name];
    if (!values.empty() && parameter->kind != Kind::texts) return refusal(400, name + " is given twice");
    values.push_back(value);
  }
  return out;
}

std::variant<Given, HttpResponse> given_by_body(const HttpRequest& request, const operations::Operation& operation) {
  Given out;
  const operations::Document body =
      operations::Document::parse(request.body.empty() ? "{}" : request.body, nullptr, false);
  if (!body.is_object()) return refusal(400, "the body is not a JSON object");
  for (const auto& [name, value] : body.items()) {
    if (name == plan_name && value.is_string()) {
      out[name] = {value.get<std::string>()};
      continue;
    }
    const operations::Parameter* const parameter = find(operation, name);
    if (parameter == nullptr) return unknown(operation, name);
    if (value.is_null()) continue;
    if (parameter->kind == Kind::flag) {
      if (!value.is_boolean()) return refusal(400, name + ": pass true or false");
      if (value.get<bool>()) out[name] = {"true"};
      continue;
    }
    // By reference: copying a value that is nested deep enough takes all of a thread's stack.
    const bool is_list = parameter->kind == Kind::texts && value.is_array();
    const std::size_t count = is_list ? value.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      const auto text = text_of_json(is_list ? value[i] : value);
      if (!text) return refusal(400, name + ": pass a string" + (parameter->kind == Kind::number ? " or number" : ""));
      out[name].push_back(*text);
    }
  }
  return out;
}

int status_of(const operations::Operation& operation, ExitCode code) {
  const auto asks_for_one = [](const operations::Parameter& parameter) {
    return parameter.place == operations::Parameter::Place::word;
  };
  switch (code) {
    case ExitCode::done:
      return 200;
    case ExitCode::no:
      if (operation.permission == operations::Permission::change) return 409;
      // An empty list is a result.
      return std::any_of(operation.parameters.begin(), operation.parameters.end(), asks_for_one) ? 404 : 200;
    case ExitCode::usage:
      return 400;
    case ExitCode::not_allowed:
      return 403;
    case ExitCode::unavailable:
    case ExitCode::try_again:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

std::variant<Given, HttpResponse> given_of(const HttpRequest& request, const operations::Operation& operation) {
  if (operation.permission != operations::Permission::change) return given_by_query(request, operation);
  if (!request.query.empty()) return refusal(400, "pass the parameters of a change in the body, not in the query");
  return given_by_body(request, operation);
}

std::string take_plan(Given& given) {
  auto found = given.extract(plan_name);
  return found.empty() ? "" : found.mapped().front();
}

HttpResponse response_of(const operations::Operation& operation, const operations::Answer& answer) {
  operations::Document document = answer.document.is_null() ? operations::Document::object() : answer.document;
  if (!answer.message.empty()) document["message"] = answer.message;
  HttpResponse out;
  out.status = status_of(operation, answer.code);
  out.body = document.dump(-1, ' ', false, operations::Document::error_handler_t::replace) + "\n";
  out.headers.emplace_back(exit_status_header, std::to_string(static_cast<int>(answer.code)));
  if (out.status == 503) out.headers.emplace_back("Retry-After", "5");
  return out;
}

operations::Answer answer_of(const HttpResponse& response) {
  operations::Answer out;
  out.code = ExitCode::unavailable;
  bool is_ours = false;
  for (const auto& [name, value] : response.headers) {
    if (name != exit_status_header) continue;
    int code = 0;
    std::from_chars(value.data(), value.data() + value.size(), code);
    out.code = static_cast<ExitCode>(code);
    is_ours = true;
  }
  if (response.status == 401 || response.status == 403) out.code = ExitCode::not_allowed;
  if (response.status == 503 && !is_ours) out.code = ExitCode::try_again;
  out.document = operations::Document::parse(response.body, nullptr, false);
  if (!out.document.is_object()) out.document = operations::Document::object();
  if (const auto message = out.document.find("message"); message != out.document.end() && message->is_string()) {
    out.message = message->get<std::string>();
    out.document.erase("message");
  }
  const bool is_refusal = out.document.size() == 1 && out.document.contains("status");
  if (!is_ours && !is_refusal) {
    return {ExitCode::unavailable, nullptr,
            "the process at admin.listen is not an inboxd (status " + std::to_string(response.status) + ")"};
  }
  if (out.document.empty() || is_refusal) out.document = nullptr;
  return out;
}

}  // namespace inboxd::admin
