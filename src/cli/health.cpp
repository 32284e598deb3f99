#include <array>
#include <chrono>
#include <ostream>

#include "admin/api.hpp"
#include "admin/http_client.hpp"
#include "cli/command.hpp"

namespace inboxd::cli {
namespace {

using namespace std::chrono_literals;
using admin::Document;
using base::ExitCode;

struct Check {
  const char* path;
  const char* yes;
  const char* no;
};
constexpr std::array<Check, 2> checks{{{"/livez", "alive", "not alive"}, {"/readyz", "ready", "not ready"}}};

std::string text_of(const Document& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

ExitCode health(Session& session, const admin::Arguments& arguments) {
  const auto loaded = session.load(true);  // secrets are for the daemon: whoever watches it may not have them
  if (!loaded) return ExitCode::configuration;
  Document document = Document::object();
  bool is_well = true;
  for (const Check& check : checks) {
    if (arguments.flag("live") && check.path != checks.front().path) break;
    const auto response = admin::ask(loaded->settings.admin, {"GET", check.path, "", ""}, 5s);
    if (!response) {
      session.say("health: " + response.problem().message);
      return ExitCode::no;
    }
    Document found = Document::parse(response.value().body, nullptr, false);
    if (!found.is_object() || !found.contains("is_well") || !found.contains("reasons")) {
      session.say("health: " + admin::answer_of(response.value()).message);
      return ExitCode::no;
    }
    std::string line = response.value().status == 200 ? check.yes : check.no;
    for (const auto& reason : found["reasons"]) line += ": " + text_of(reason);
    is_well = is_well && response.value().status == 200;
    document[check.yes] = std::move(found);
    if (!session.json) session.output.out << one_line(line) << '\n';
  }
  if (session.json) session.print(document);
  return is_well ? ExitCode::done : ExitCode::no;
}

}  // namespace

Command health_command() {
  return {"health",
          "Whether the daemon of this configuration lives and is ready: status 0 or 1, for health checks.",
          {{"health", "asks over its admin port"}, {"health --live", "whether it lives only: for what restarts it"}},
          {{"live", admin::Parameter::Kind::flag, "do not ask whether it is ready"}},
          health};
}

}  // namespace inboxd::cli
