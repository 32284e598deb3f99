#include "admin/api.hpp"
#include "operations/answers.hpp"
#include "operations/documents.hpp"

namespace inboxd::admin {
namespace {

using Kind = operations::Parameter::Kind;

operations::Document schema_of(const operations::Parameter& parameter) {
  operations::Document out;
  switch (parameter.kind) {
    case Kind::flag:
      out = {{"type", "boolean"}, {"default", false}};
      break;
    case Kind::text:
    case Kind::bytes:
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

bool is_needed(const operations::Parameter& parameter) { return parameter.place == operations::Parameter::Place::word; }

operations::Document json_content(operations::Document schema) {
  return {{"application/json", {{"schema", std::move(schema)}}}};
}

operations::Document reference(const char* name) { return {{"$ref", std::string{"#/components/responses/"} + name}}; }

/// An answer with its sentence for people.
operations::Document with_message(operations::Document answer) {
  return operations::schema::extended(std::move(answer), {{"message", operations::schema::text(), false}});
}

/// A dry run's plan, if the operation has one.
operations::Document with_plan(operations::Document answer) {
  return operations::schema::extended(
      std::move(answer),
      {{plan_name, operations::schema::text("of a dry run: with it the same change does no more"), false}});
}

/// The answer of a change that was refused or stopped early: its document as far as it came, or a message alone.
operations::Document not_done(const operations::Operation& operation) {
  return json_content(
      operations::schema::any_of({with_message(operation.answer()), operations::schema::reference("Refusal")}));
}

operations::Document not_found(const operations::Operation& operation) {
  return json_content(with_message(operation.not_one != nullptr ? operation.not_one() : operation.answer()));
}

operations::Document responses_of(const operations::Operation& operation) {
  operations::Document ok{
      {"description", "The result. `message` has a sentence for people, if there is one."},
      {"headers",
       {{"Inboxd-Exit-Status",
         {{"description", "The exit status of the same command."}, {"schema", {{"type", "integer"}}}}}}},
      {"content", json_content(operation.permission == operations::Permission::change
                                   ? with_plan(with_message(operation.answer()))
                                   : with_message(operation.answer()))}};
  operations::Document out{{"200", std::move(ok)},
                           {"400", reference("Refused")},
                           {"401", reference("Refused")},
                           {"403", reference("Refused")},
                           {"503", reference("Later")}};
  bool asks_for_one = false;
  for (const operations::Parameter& parameter : operation.parameters)
    asks_for_one = asks_for_one || is_needed(parameter);
  if (operation.permission == operations::Permission::change) {
    out["409"] = {{"description", "Nothing matched, or the change was refused; `message` says why."},
                  {"content", not_done(operation)}};
    out["413"] = reference("Refused");
    out["415"] = reference("Refused");
    out["503"] = {{"description", "Temporary failure, or stopped early: repeat the request for the rest."},
                  {"content", not_done(operation)}};
  } else if (asks_for_one) {
    out["404"] = {{"description", "The id matches nothing, or several; `message` says which."},
                  {"content", not_found(operation)}};
  }
  out["default"] = reference("Other");
  return out;
}

/// Any of these suffices. The empty requirement stands for this machine without a token (admin.read: loopback).
operations::Document security_of(operations::Permission permission) {
  const operations::Document none = operations::Document::array();
  operations::Document out = operations::Document::array();
  if (permission == operations::Permission::read) out.push_back(operations::Document::object());
  if (permission != operations::Permission::change) out.push_back(operations::Document{{"read_token", none}});
  out.push_back(operations::Document{{"token", none}});
  return out;
}

operations::Document read_of(const operations::Operation& operation) {
  operations::Document parameters = operations::Document::array();
  for (const operations::Parameter& parameter : operation.parameters) {
    if (!is_asked_over_http(parameter)) continue;
    parameters.push_back({{"name", parameter.name},
                          {"in", "query"},
                          {"description", parameter.help},
                          {"required", is_needed(parameter)},
                          {"schema", schema_of(parameter)}});
  }
  return {{"parameters", std::move(parameters)}};
}

operations::Document change_of(const operations::Operation& operation) {
  operations::Document properties = operations::Document::object();
  operations::Document needed = operations::Document::array();
  for (const operations::Parameter& parameter : operation.parameters) {
    if (!is_asked_over_http(parameter)) continue;
    properties[parameter.name] = schema_of(parameter);
    properties[parameter.name]["description"] = parameter.help;
    if (is_needed(parameter)) needed.push_back(parameter.name);
  }
  properties[plan_name] = {{"type", "string"},
                           {"description", "the plan of a dry run with the same arguments, which limits the change"}};
  operations::Document body{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!needed.empty()) body["required"] = std::move(needed);
  return {{"requestBody", {{"required", true}, {"content", json_content(std::move(body))}}}};
}

operations::Document path_document(const operations::Operation& operation) {
  const bool reads = operation.permission != operations::Permission::change;
  std::string id = operation.verb;
  for (char& c : id) c = c == ' ' ? '_' : c;
  operations::Document out{{"operationId", id},
                           {"summary", operation.help},
                           {"tags", operations::Document::array({operation.verb.substr(0, operation.verb.find(' '))})}};
  out.update(reads ? read_of(operation) : change_of(operation));
  out["security"] = security_of(operation.permission);
  out["responses"] = responses_of(operation);
  return {{reads ? "get" : "post", std::move(out)}};
}

operations::Document health_path(const char* id, const char* summary) {
  const auto health = json_content(operations::schema::reference("Health"));
  return {{"get",
           {{"operationId", id},
            {"summary", summary},
            {"tags", operations::Document::array({"health"})},
            {"responses",
             {{"200", {{"description", "Yes."}, {"content", health}}},
              {"503", {{"description", "No, and why."}, {"content", health}}},
              {"default", reference("Other")}}}}}};
}

/// A document that every reader may get.
operations::Document text_path(const char* id, const char* summary, const char* what, const char* type,
                               operations::Document schema) {
  return {{"get",
           {{"operationId", id},
            {"summary", summary},
            {"tags", operations::Document::array({"health"})},
            {"security", security_of(operations::Permission::read)},
            {"responses",
             {{"200", {{"description", what}, {"content", {{type, {{"schema", std::move(schema)}}}}}}},
              {"401", reference("Refused")},
              {"403", reference("Refused")},
              {"default", reference("Other")}}}}}};
}

operations::Document schemas() {
  operations::Document out = operations::answers::components();
  out["Health"] = operations::schema::object(
      {{"is_well", operations::schema::flag()}, {"reasons", operations::schema::list(operations::schema::text())}});
  out["Refusal"] =
      operations::schema::object({{"status", operations::schema::integer(), false},
                                  {"message", operations::schema::text()},
                                  {"did_you_mean", operations::schema::text("the nearest known name"), false}});
  return out;
}

operations::Document components() {
  const auto bearer = [](const char* about) {
    return operations::Document{{"type", "http"}, {"scheme", "bearer"}, {"description", about}};
  };
  return {
      {"securitySchemes",
       {{"read_token", bearer("admin.read_token: every read.")}, {"token", bearer("admin.token: every operation.")}}},
      {"schemas", schemas()},
      {"responses",
       {{"Refused",
         {{"description", "The request was refused; `message` has the remedy."},
          {"content", json_content(operations::schema::reference("Refusal"))}}},
        {"Other",
         {{"description",
           "A wrong method (405); a request that is late (408), unreadable (400, 411, 413, 417, 431, 505) or not "
           "answered in time (503); a bug (500)."},
          {"content", json_content(operations::schema::reference("Refusal"))}}},
        {"Later",
         {{"description",
           "Temporary failure: the database is away or busy, too many requests are waiting, or the time ran out. "
           "Retry-After, if present, says when to try again."},
          {"content", json_content(operations::schema::reference("Refusal"))}}}}}};
}

}  // namespace

operations::Document openapi() {
  operations::Document paths{
      {"/livez", health_path("livez", "Whether its loops run. No: one of them hangs, and only a restart helps.")},
      {"/readyz",
       health_path("readyz", "Whether it has started, with its configuration loaded and the schema up to date.")},
      {"/startupz", health_path("startupz", "Whether it has been ready once.")},
      {"/metrics", text_path("metrics", "Metrics in Prometheus's text format.", "The metrics.", "text/plain",
                             {{"type", "string"}})},
      {"/openapi.json",
       text_path("openapi", "This document.", "The document.", "application/json", {{"type", "object"}})}};
  for (const operations::Operation& operation : operations::operations())
    paths[operations::path_of(operation)] = path_document(operation);
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "inboxd admin port"},
            {"version", INBOXD_VERSION},
            {"description",
             "Every operation of the command line except `run`, `health`, which asks this port, and `plugin check`, "
             "which loads a file into its own process. Health needs no token. With admin.read: loopback, cheap reads "
             "from this machine need none. Everything else needs a token, as `security` says."}}},
          {"servers", operations::Document::array({{{"url", "http://127.0.0.1:9470"}}})},
          {"paths", std::move(paths)},
          {"components", components()}};
}

std::string openapi_text() { return openapi().dump(2) + "\n"; }

}  // namespace inboxd::admin
