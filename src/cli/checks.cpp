#include "cli/checks.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "admin/tls.hpp"
#include "cli/session.hpp"
#include "config/handler_connection.hpp"
#include "daemon/descriptors.hpp"
#include "daemon/prepare_handlers.hpp"
#include "inbox/answer.hpp"
#include "inbox/connection_limits.hpp"
#include "inbox/migrations.hpp"
#include "operations/check_registry.hpp"
#include "operations/check_service.hpp"
#include "operations/unsafe_connections.hpp"
#include "plugin/loader.hpp"
#include "transaction/handler_transaction.hpp"

namespace inboxd::cli {
namespace {

using operations::Finding;
using operations::FoundList;

constexpr std::chrono::milliseconds service_patience{2'000};

bool is_good_enough(const Finding& finding) { return finding.kind < Finding::Kind::problem; }

/// Whether the one problem is that no migration was applied. Then `before` gets the statement that applies all.
bool is_before_first_migration(const FoundList& database, inbox::Connection& connection, const std::string& schema,
                               std::string& before, FoundList& out) {
  if (std::count_if(database.begin(), database.end(), std::not_fn(is_good_enough)) != 1) return false;
  const auto failure = inbox::database_failure_of([&] {
    if (inbox::migration_state(connection, schema).applied > 0) return;
    inbox::try_first_migration(connection, schema);
    before = inbox::all_migrations_at_once(schema);
  });
  if (failure) {
    out.push_back(
        {Finding::Kind::warning, "database", "`inboxd migrate` would fail as this user: " + failure->message});
  }
  return !before.empty();
}

/// `connection`: null if the database has a problem, so that handlers' SQL cannot be checked. `before`: runs in the
/// transaction of each check, which is rolled back.
FoundList check_plugins(const config::Loaded& file, inbox::Connection* connection, const std::string& before) {
  const bool with_database = connection != nullptr;
  const config::Settings& settings = file.settings;
  FoundList out;
  plugin::Loader plugins;
  auto log = command_log();
  inbox::Watchdog watchdog;
  const auto describer =
      with_database ? transaction::database_describer(settings.database, watchdog, log, before) : nullptr;
  std::vector<daemon::Writer> writers;
  for (std::size_t i = 0; i < settings.handlers.size(); ++i) {
    const config::Handler& handler = settings.handlers[i];
    daemon::RecordingDescriber recording{describer.get()};
    const std::string subject = "handler " + handler.name;
    const auto description = plugins.inspect(handler.plugin);
    if (!description) {
      out.push_back({Finding::Kind::problem, subject, description.problem().message});
      continue;
    }
    const auto instance =
        plugins.load(config::with_connection(handler, settings.kafka), log, describer ? &recording : nullptr);
    if (!instance) {
      const std::string place = daemon::place_of_refusal(file, i, recording);
      const std::string message = config::without_secrets(instance.problem().message, file);
      out.push_back({Finding::Kind::problem, subject, place + ": " + message});
    } else {
      const bool writes = instance.value()->needs().sql;
      if (writes) writers.push_back({handler.name, handler.concurrency});
      out.push_back(
          {Finding::Kind::good, subject,
           description.value().name + " " + description.value().version + " from " + description.value().path +
               (writes && !with_database ? "; its SQL was not checked, because the database has problems" : "")});
    }
  }
  if (const auto problem = daemon::descriptors_problem(settings)) {
    out.push_back({Finding::Kind::problem, "configuration", problem->message});
  }
  if (const auto problem = daemon::connections_problem(writers, settings)) {
    out.push_back({Finding::Kind::problem, "configuration", problem->message});
  } else if (with_database) {
    const auto failure = inbox::database_failure_of([&] {
      const int needed = daemon::connections_needed(writers, settings);
      for (std::string& low : inbox::low_connection_limits(*connection, needed)) {
        out.push_back({Finding::Kind::problem, "database", std::move(low)});
      }
    });
    if (failure) out.push_back({Finding::Kind::problem, "database", failure->message});
  }
  return out;
}

/// A refused URL may hold a password, so its service is not checked.
config::Settings without_refused(config::Settings settings, const FoundList& plugins) {
  std::erase_if(settings.handlers, [&](const config::Handler& handler) {
    return std::any_of(plugins.begin(), plugins.end(), [&](const Finding& finding) {
      return finding.kind >= Finding::Kind::problem && finding.subject == "handler " + handler.name;
    });
  });
  return settings;
}

}  // namespace

FoundList check_file(const config::Loaded& loaded) {
  FoundList out;
  for (const auto& problem : loaded.problems) out.push_back({Finding::Kind::problem, "configuration", problem.text()});
  for (const auto& warning : loaded.warnings) out.push_back({Finding::Kind::warning, "configuration", warning.text()});
  if (loaded.ok()) {
    out.push_back({Finding::Kind::good, "configuration",
                   loaded.file + ": topics " + std::to_string(loaded.settings.topics.size()) + ", handlers " +
                       std::to_string(loaded.settings.handlers.size())});
    for (Finding& finding : operations::check_connections(loaded.settings)) out.push_back(std::move(finding));
    for (Finding& finding : operations::check_schema_files(loaded.settings)) out.push_back(std::move(finding));
  }
  return out;
}

void check_all(const config::Loaded& loaded, inbox::Connection& first, inbox::Connection& second,
               std::chrono::milliseconds patience, const std::function<void(FoundList)>& add) {
  for (const auto& problem : {admin::problem_of(loaded.settings.admin.tls, "admin.tls"),
                              admin::problem_of(loaded.settings.ingest.tls, "ingest.tls")}) {
    if (problem) add({{Finding::Kind::problem, "configuration", problem->message}});
  }
  const auto database = operations::check_database(loaded.settings, first, &second);
  add(database);
  std::string before;
  FoundList migration;
  const bool is_usable =
      std::all_of(database.begin(), database.end(), is_good_enough) ||
      is_before_first_migration(database, first, loaded.settings.database.schema, before, migration);
  add(migration);
  const auto plugins = check_plugins(loaded, is_usable ? &first : nullptr, before);
  add(plugins);
  add(operations::check_services(without_refused(loaded.settings, plugins), service_patience));
  add(operations::check_registries(loaded.settings));
  add(operations::check_brokers(loaded.settings, patience));
}

}  // namespace inboxd::cli
