#include "cli/ask_daemon.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "admin/api.hpp"
#include "admin/http_client.hpp"
#include "cli/session.hpp"

namespace inboxd::cli {
namespace {

using operations::Document;
using Kind = operations::Parameter::Kind;

Document json_of(const operations::Parameter& parameter, const std::vector<std::string>& texts) {
  if (parameter.kind == Kind::flag) return true;
  if (parameter.kind == Kind::texts) return texts;
  return texts.front();
}

admin::Question question_of(const operations::Operation& operation, const operations::Arguments& arguments) {
  admin::Question out;
  out.target = operations::path_of(operation);
  out.actor = actor();
  const bool changes = operation.permission == operations::Permission::change;
  Document body = Document::object();
  char before = '?';
  for (const auto& parameter : operation.parameters) {
    const auto given = arguments.given().find(parameter.name);
    if (given == arguments.given().end() || !admin::is_asked_over_http(parameter)) continue;
    body[parameter.name] = json_of(parameter, given->second);
    for (const std::string& text : given->second) {
      if (changes) break;
      out.target += before + parameter.name + "=" + (parameter.kind == Kind::flag ? "true" : admin::encoded(text));
      before = '&';
    }
  }
  if (changes) {
    out.method = "POST";
    out.body = body.dump();
  }
  return out;
}

}  // namespace

operations::Answer ask_daemon(const config::Settings& settings, const operations::Operation& operation,
                              const operations::Arguments& arguments,
                              std::optional<std::chrono::milliseconds> timeout) {
  const auto patience = timeout.value_or(settings.admin.answer_timeout + std::chrono::seconds{5});
  const auto response = admin::ask(settings.admin, question_of(operation, arguments), patience);
  if (!response) return {base::ExitCode::unavailable, nullptr, response.problem().message};
  return admin::answer_of(response.value());
}

operations::Answer ask_daemon(const config::Settings& settings, const std::string& verb,
                              const operations::Arguments& arguments,
                              std::optional<std::chrono::milliseconds> timeout) {
  const auto table = operations::operations();
  const auto operation = std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.verb == verb; });
  if (operation == table.end()) throw std::logic_error{"no operation " + verb};
  return ask_daemon(settings, *operation, arguments, timeout);
}

}  // namespace inboxd::cli
