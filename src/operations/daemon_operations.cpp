#include <algorithm>
#include <iterator>

#include "config/reference.hpp"
#include "config/show.hpp"
#include "kafka/properties.hpp"
#include "operations/check.hpp"
#include "operations/operation_table.hpp"
#include "operations/running_daemon.hpp"
#include "operations/server_queries.hpp"
#include "operations/unsafe_connections.hpp"

namespace inboxd::operations {
namespace {

using base::ExitCode;

/// For each question to the brokers: a stopping daemon waits for the answer.
constexpr std::chrono::milliseconds patience{1'500};

Answer set_paused(Context& context, const Arguments& arguments, bool paused) {
  const std::string verb = paused ? "instance pause" : "instance resume";
  const Document document{{"dry_run", arguments.flag("dry-run")}, {"paused", paused}};
  if (arguments.flag("dry-run")) return {ExitCode::done, document, ""};
  if (context.daemon->pause_all(paused, context.actor)) return {ExitCode::done, document, ""};
  return {ExitCode::no, nullptr,
          verb + (paused ? ": this instance is paused already, or not running yet" : ": this instance is not paused")};
}

}  // namespace

Answer functions::instance_show(Context& context, const Arguments&) {
  return {ExitCode::done, context.daemon->describe(), ""};
}

Answer functions::instance_pause(Context& context, const Arguments& arguments) {
  return set_paused(context, arguments, true);
}

Answer functions::instance_resume(Context& context, const Arguments& arguments) {
  return set_paused(context, arguments, false);
}

/// Checks without plugins: the daemon has loaded its plugins, and a start or a reload refuses a bad plugin.
Answer functions::check(Context& context, const Arguments&) {
  const config::Settings settings = context.daemon->in_force().settings;
  FoundList found = check_connections(settings);
  const auto add = [&](FoundList more) {
    found.insert(found.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  add(check_database(settings, *context.connection, nullptr));
  if (!context.pause(std::chrono::milliseconds{0})) {  // the client still waits, and there is time left
    add(check_brokers(settings, std::min(patience, settings.admin.answer_timeout / 4)));
  }
  // An unreachable server is a result here, so never ExitCode::unavailable.
  return {verdict_on(found) == ExitCode::done ? ExitCode::done : ExitCode::no, document_of(found), ""};
}

Answer functions::config_show(Context& context, const Arguments&) {
  return {ExitCode::done, Document::parse(config::show_json(context.daemon->in_force())), ""};
}

Answer functions::config_reference(Context&, const Arguments& arguments) {
  const bool yaml = arguments.flag("yaml");
  const bool minimal = arguments.flag("minimal");
  if (yaml && minimal) return {ExitCode::usage, nullptr, "config reference: pass --yaml or --minimal, not both"};
  return {ExitCode::done,
          {{"reference", yaml      ? config::commented_yaml()
                         : minimal ? config::minimal_yaml()
                                   : config::reference()}},
          ""};
}

Answer functions::config_schema(Context&, const Arguments&) {
  return {ExitCode::done, Document::parse(config::schema()), ""};
}

Answer functions::version(Context&, const Arguments&) {
  Document libraries = {{"librdkafka", kafka::library_version()}};
  for (const auto& library : database_libraries()) libraries[library.name] = library.version;
  return {ExitCode::done, {{"inboxd", INBOXD_VERSION}, {"libraries", libraries}}, ""};
}

}  // namespace inboxd::operations
