#include "admin/answers.hpp"
#include "admin/api.hpp"
#include "admin/schema.hpp"

namespace inboxd::admin {
namespace {

using Kind = Parameter::Kind;

Document schema_of(const Parameter& parameter) {
  Document out;
  switch (parameter.kind) {
    case Kind::flag:
      out = {{"type", "boolean"}, {"default", false}};
      break;
    case Kind::text:
      out = {{"type", "string"}};
      break;
    case Kind::texts:
      out = {{"type", "array"}, {"items", {{"type", "string"}}}};
      break;
    case Kind::number:
      out = {{"type", "integer"}, {"minimum", parameter.least}, {"maximum", parameter.most}};
      if (parameter.default_number) out["default"] = *parameter.default_number;
      break;
    case Kind::time:
      out = {{"type", "string"}, {"examples", {"2024-01-31T12:00:00Z", "2h"}}};
      break;
  }
  return out;
}

bool is_needed(const Parameter& parameter) { return parameter.place == Parameter::Place::word; }

Document json_content(Document schema) { return {{"application/json", {{"schema", std::move(schema)}}}}; }

Document reference(const char* name) { return {{"$ref", std::string{"#/components/responses/"} + name}}; }

/// `message` says beside it what a person should know.
Document with_message(Document answer) {
  return schema::extended(std::move(answer), {{"message", schema::text(), false}});
}

/// Of a change, what it answers where it was not done, or not to its end: the same as far as it came, or a reason
/// alone.
Document not_done(const Operation& operation) {
  return json_content(schema::any_of({with_message(operation.answer()), schema::reference("Refusal")}));
}

Document not_found(const Operation& operation) {
  return json_content(with_message(operation.not_one != nullptr ? operation.not_one() : operation.answer()));
}

Document responses_of(const Operation& operation) {
  Document ok{
      {"description", "What was found or done; `message` has what a person should know beside it."},
      {"headers",
       {{"Inboxd-Exit-Status",
         {{"description", "The exit status that the command line has for it."}, {"schema", {{"type", "integer"}}}}}}},
      {"content", json_content(with_message(operation.answer()))}};
  Document out{{"200", std::move(ok)},
               {"400", reference("Refused")},
               {"401", reference("Refused")},
               {"403", reference("Refused")},
               {"503", reference("Later")}};
  bool asks_for_one = false;
  for (const Parameter& parameter : operation.parameters) asks_for_one = asks_for_one || is_needed(parameter);
  if (operation.permission == Permission::change) {
    out["409"] = {{"description", "Nothing matched, or it was not to be done; `message` says why."},
                  {"content", not_done(operation)}};
    out["413"] = reference("Refused");
    out["415"] = reference("Refused");
    out["503"] = {{"description", "Not now, or not to its end: the same request goes on with the rest."},
                  {"content", not_done(operation)}};
  } else if (asks_for_one) {
    out["404"] = {{"description", "Nothing has that id, or more than one; `message` says which."},
                  {"content", not_found(operation)}};
  }
  out["default"] = reference("Other");
  return out;
}

Document needs_token() { return Document::array({{{"token", Document::array()}}}); }

Document read_of(const Operation& operation) {
  Document parameters = Document::array();
  for (const Parameter& parameter : operation.parameters) {
    if (!is_asked_over_http(parameter)) continue;
    parameters.push_back({{"name", parameter.name},
                          {"in", "query"},
                          {"description", parameter.help},
                          {"required", is_needed(parameter)},
                          {"schema", schema_of(parameter)}});
  }
  Document out{{"parameters", std::move(parameters)}};
  if (operation.permission == Permission::read_with_token) out["security"] = needs_token();
  return out;
}

Document change_of(const Operation& operation) {
  Document properties = Document::object();
  Document needed = Document::array();
  for (const Parameter& parameter : operation.parameters) {
    if (!is_asked_over_http(parameter)) continue;
    properties[parameter.name] = schema_of(parameter);
    properties[parameter.name]["description"] = parameter.help;
    if (is_needed(parameter)) needed.push_back(parameter.name);
  }
  Document body{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!needed.empty()) body["required"] = std::move(needed);
  return {{"requestBody", {{"required", true}, {"content", json_content(std::move(body))}}},
          {"security", needs_token()}};
}

Document path_document(const Operation& operation) {
  const bool reads = operation.permission != Permission::change;
  std::string id = operation.verb;
  for (char& c : id) c = c == ' ' ? '_' : c;
  Document out{{"operationId", id},
               {"summary", operation.help},
               {"tags", Document::array({operation.verb.substr(0, operation.verb.find(' '))})}};
  out.update(reads ? read_of(operation) : change_of(operation));
  out["responses"] = responses_of(operation);
  return {{reads ? "get" : "post", std::move(out)}};
}

Document health_path(const char* id, const char* summary) {
  const auto health = json_content(schema::reference("Health"));
  return {{"get",
           {{"operationId", id},
            {"summary", summary},
            {"tags", Document::array({"health"})},
            {"responses",
             {{"200", {{"description", "Yes."}, {"content", health}}},
              {"503", {{"description", "No, and why."}, {"content", health}}},
              {"default", reference("Other")}}}}}};
}

/// What is answered as it is, to whoever may read.
Document text_path(const char* id, const char* summary, const char* what, const char* type, Document schema) {
  return {{"get",
           {{"operationId", id},
            {"summary", summary},
            {"tags", Document::array({"health"})},
            {"responses",
             {{"200", {{"description", what}, {"content", {{type, {{"schema", std::move(schema)}}}}}}},
              {"401", reference("Refused")},
              {"403", reference("Refused")},
              {"default", reference("Other")}}}}}};
}

Document schemas() {
  Document out = answers::components();
  out["Health"] = schema::object({{"is_well", schema::flag()}, {"reasons", schema::list(schema::text())}});
  out["Refusal"] = schema::object({{"status", schema::integer(), false}, {"message", schema::text()}});
  return out;
}

Document components() {
  return {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}},
          {"schemas", schemas()},
          {"responses",
           {{"Refused",
             {{"description", "The request is not as it has to be; `message` says what would be right."},
              {"content", json_content(schema::reference("Refusal"))}}},
            {"Other",
             {{"description",
               "Another method than these (405); a request that does not come in time (408), cannot be read (400, 411, "
               "413, 417, 431, 505) or stays unanswered for too long (503); a bug (500)."},
              {"content", json_content(schema::reference("Refusal"))}}},
            {"Later",
             {{"description", "Not now: the database is away or busy, or time ran out."},
              {"content", json_content(schema::reference("Refusal"))}}}}}};
}

}  // namespace

Document openapi() {
  Document paths{
      {"/livez", health_path("livez", "Whether its loops move. No where one hangs: then only a restart helps.")},
      {"/readyz", health_path("readyz", "Whether it is started, its configuration loaded, its schema right.")},
      {"/startupz", health_path("startupz", "Whether it has come so far once.")},
      {"/metrics", text_path("metrics", "Metrics in Prometheus's text format.", "The metrics.", "text/plain",
                             {{"type", "string"}})},
      {"/openapi.json",
       text_path("openapi", "This document.", "The document.", "application/json", {{"type", "object"}})}};
  for (const Operation& operation : operations()) paths[path_of(operation)] = path_document(operation);
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "inboxd admin port"},
            {"version", INBOXD_VERSION},
            {"description",
             "Every operation of the command line, but for `run`, `health` (which asks here) and `plugin check` (which "
             "loads a file into whoever asks). Without a token only reading is answered, but for what asks for one, "
             "and only to this machine."}}},
          {"servers", Document::array({{{"url", "http://127.0.0.1:9470"}}})},
          {"paths", std::move(paths)},
          {"components", components()}};
}

std::string openapi_text() { return openapi().dump(2) + "\n"; }

}  // namespace inboxd::admin
