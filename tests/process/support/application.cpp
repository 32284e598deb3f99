#include "process/support/application.hpp"

#include <cstdio>
#include <exception>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out{text};
  for (auto at = out.find(from); at != std::string::npos; at = out.find(from, at + to.size())) {
    out.replace(at, from.size(), to);
  }
  return out;
}

}  // namespace

Application::Application(Database& database) : database_{database}, schema_{random_name("app")} {
  database_.run("create schema " + schema_);
}

Application::~Application() {
  try {
    database_.run("set client_min_messages = warning; drop schema if exists " + schema_ + " cascade");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "schema %s stays behind: %s\n", schema_.c_str(), error.what());
  }
}

std::string Application::named(std::string_view sql) const {
  return replaced(replaced(sql, "app.", schema_ + "."), "inbox.", database_.schema() + ".");
}

void Application::create_table() { run("create table app.applied (event_id uuid not null, n bigint)"); }

HandlerText Application::statement(const std::string& name, std::string_view sql, std::vector<std::string> more) const {
  HandlerText handler;
  handler.name = name;
  handler.plugin = "sql";
  handler.more = std::move(more);
  handler.settings["statement"] = yaml_text(named(sql));
  return handler;
}

HandlerText Application::function(const std::string& name, std::string_view function,
                                  std::vector<std::string> more) const {
  HandlerText handler = statement(name, "", std::move(more));
  handler.settings = {{"function", yaml_text(named(function))}};
  return handler;
}

std::string yaml_text(std::string_view text) { return "'" + replaced(text, "'", "''") + "'"; }

}  // namespace inboxd::support
