#include "daemon/preparation.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/repeats.hpp"
#include "inbox/database_error.hpp"
#include "inbox/handler_transaction.hpp"
#include "inbox/handlers.hpp"
#include "inbox/migrations.hpp"
#include "inbox/upkeep.hpp"
#include "plugin/plugin.hpp"

namespace inboxd::daemon {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;

constexpr auto look_again = 500ms;
constexpr int partition_days_ahead = 7;
constexpr std::string_view lock_not_available = "55P03";

Refusal refusal_of(const inbox::DatabaseFailure& failure, const std::string& what) {
  if (failure.sqlstate == "42501") {
    return {ExitCode::not_allowed,
            what + ": not allowed: " + failure.message + "; use a role that may (sql/roles.sql makes them)"};
  }
  if (failure.fault == inbox::Fault::stop) return {ExitCode::configuration, what + ": " + failure.message};
  return {ExitCode::unavailable, what + ": " + failure.message};
}

std::optional<Refusal> wait_for(inbox::Connection& connection, const config::Settings& settings,
                                const inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log) {
  const auto end = std::chrono::steady_clock::now() + settings.database.deadline;
  base::Repeats repeats;
  while (true) {
    try {
      connection.open();
      return std::nullopt;
    } catch (...) {
      const auto failure = inbox::describe(std::current_exception());
      const auto now = std::chrono::steady_clock::now();
      if (now >= end || watchdog.is_over(now)) return refusal_of(failure, "database " + connection.where());
      notify.status("waiting for the database: " + failure.message);
      if (repeats.is_news(failure.message)) {
        log.warn("daemon: waiting for the database", {{"database", connection.where()}, {"error", failure.message}});
      }
      std::this_thread::sleep_for(look_again);
    }
  }
}

void tell_changed(inbox::Connection& connection, const std::string& schema, base::Logger& log) {
  for (const std::string& name : inbox::changed_migrations(connection, schema)) {
    log.warn("daemon: a migration was applied with another text than this program's; another build made the schema",
             {{"schema", schema}, {"migration", name}});
  }
}

std::optional<Refusal> check_schema(inbox::Connection& connection, const config::Settings& settings, bool migrate,
                                    const Notify& notify, base::Logger& log) {
  const auto& schema = settings.database.schema;
  if (migrate) {
    const auto state = inbox::migrate(connection, schema, [&](const inbox::Migration& migration) {
      notify.status("migrating: " + migration.name);
      log.info("daemon: migrating", {{"schema", schema}, {"migration", migration.name}});
    });
    if (!state) return Refusal{ExitCode::configuration, state.problem().message};
    tell_changed(connection, schema, log);
    return std::nullopt;
  }
  const auto state = inbox::migration_state(connection, schema);
  if (state.newer()) {
    return Refusal{ExitCode::configuration, inbox::newer_than_program(state).message};
  }
  if (state.due()) {
    return Refusal{ExitCode::try_again, "schema " + schema + " is at migration " + std::to_string(state.applied) +
                                            " of " + std::to_string(state.known) +
                                            ": run `inboxd migrate`, or `inboxd run --migrate`"};
  }
  tell_changed(connection, schema, log);
  return std::nullopt;
}

/// Remembers whether the last statement that was asked about names something that the database does not have.
class NotingMissing final : public inbox::SqlDescriber {
 public:
  explicit NotingMissing(inbox::SqlDescriber& describer) : describer_{describer} {}
  std::unique_ptr<inbox::SqlResult> describe(const inbox::SqlStatement& statement) override {
    auto out = describer_.describe(statement);
    is_missing_ = out != nullptr && out->error && inbox::is_missing(out->error->sqlstate);
    return out;
  }
  bool is_missing() const { return is_missing_; }

 private:
  inbox::SqlDescriber& describer_;
  bool is_missing_ = false;
};

std::optional<Refusal> make_days(inbox::Connection& connection, base::Logger& log) {
  try {
    inbox::make_partitions(connection, partition_days_ahead);
    return std::nullopt;
  } catch (...) {
    const auto failure = inbox::describe(std::current_exception());
    if (failure.sqlstate != lock_not_available) return refusal_of(failure, "database " + connection.where());
    log.warn("daemon: somebody holds the tables; day partitions are made later", {{"error", failure.message}});
    return std::nullopt;
  }
}

/// `before`: as what this process had it.
void tell(const inbox::Registered& registered, const inbox::Registered* before, const config::Handler& handler,
          base::Logger& log) {
  if (registered.has_former_name) {
    log.warn("daemon: the configuration has a former name of a handler, which keeps its new one, its topics and types",
             {{"handler", registered.name}, {"configured", handler.name}});
  }
  if (before != nullptr && registered.handler_id != before->handler_id) {
    log.error(
        "daemon: somebody else has added the handler anew; what was stored before it was added may not be owed to it",
        {{"handler", registered.name}});
  } else if (before != nullptr && registered.is_new && registered.since == before->since) {
    log.error("daemon: the database had forgotten a handler; it is owed again what was stored since it was new",
              {{"handler", registered.name}});
  } else if (registered.is_new) {
    log.info("daemon: handler added", {{"handler", registered.name}});
  }
  if (!registered.change.empty()) {
    log.warn("daemon: handler changed; what is stored from now on is owed to it by its new topics and types",
             {{"handler", registered.name}, {"change", registered.change}});
  }
}

}  // namespace

inbox::InstanceIdentity identity_of(const base::Uuid& instance_id) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return {instance_id, host.data(), static_cast<int>(getpid())};
}

std::optional<Refusal> prepare_database(inbox::Connection& connection, const config::Settings& settings, bool migrate,
                                        const inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log) {
  if (auto refusal = wait_for(connection, settings, watchdog, notify, log)) return refusal;
  try {
    if (auto refusal = check_schema(connection, settings, migrate, notify, log)) return refusal;
  } catch (...) {
    const auto failure = inbox::describe(std::current_exception());
    const std::string what = "database " + connection.where();
    if (failure.sqlstate != lock_not_available) return refusal_of(failure, what);
    return Refusal{ExitCode::try_again, what + ": not migrated, somebody holds what it takes: " + failure.message};
  }
  return make_days(connection, log);
}

namespace {

/// Handlers into the database, and what it knows of them out of it.
void register_all(inbox::Connection& connection, const std::vector<config::Handler>& handlers,
                  const inbox::InstanceIdentity& instance, const std::vector<inbox::Registered>& before,
                  base::Logger& log, bool& is_done, std::vector<dispatcher::HandlerSetup>& out) {
  const auto registered =
      inbox::register_handlers(connection, handlers, "daemon on " + instance.host, before, instance);
  is_done = true;
  for (std::size_t i = 0; i < registered.size(); ++i) {
    out[i].handler_id = registered[i].handler_id;
    out[i].registered = registered[i];
    tell(registered[i], inbox::find_registered(before, handlers[i]), handlers[i], log);
    // Everything that is counted and looked up by name is so by the name that the database knows.
    out[i].settings.name = registered[i].name;
  }
  for (const auto& known : inbox::read_routing(connection).handlers) {
    const auto ours =
        std::find_if(out.begin(), out.end(), [&](const auto& setup) { return setup.handler_id == known.handler_id; });
    if (ours != out.end()) ours->paused = known.paused_reason.has_value();
  }
}

/// Registers; where it is not known whether that was done, again until it is, or the database has not said so for long:
/// once more changes nothing, and a reload must not be refused by which all instances route already.
void put_into_database(inbox::Connection& connection, const config::Settings& settings,
                       const inbox::InstanceIdentity& instance, const std::vector<inbox::Registered>& before,
                       const inbox::Watchdog& watchdog, base::Logger& log, PreparedHandlers& out) {
  std::optional<std::chrono::steady_clock::time_point> end;
  bool may_be_done = false;
  while (true) {
    try {
      return register_all(connection, settings.handlers, instance, before, log, may_be_done, out.handlers);
    } catch (...) {
      const auto failure = inbox::describe(std::current_exception());
      may_be_done = may_be_done || failure.fault == inbox::Fault::in_doubt;
      const auto now = std::chrono::steady_clock::now();
      // From the first doubt on: a COMMIT without an answer has taken all of a deadline. The next look takes another.
      if (may_be_done && !end) end = now + 2 * settings.database.deadline;
      if (!may_be_done || failure.fault == inbox::Fault::stop || now >= *end || watchdog.is_over(now)) {
        out.refusal = refusal_of(failure, "handlers could not be put into the database");
        return;
      }
      log.warn("daemon: whether the database knows the handlers is in doubt, asking again",
               {{"error", failure.message}});
    }
    std::this_thread::sleep_for(look_again);
  }
}

}  // namespace

std::optional<base::Problem> connections_problem(const std::vector<Writer>& writers, const config::Settings& settings) {
  int needed = settings.ingest.connections + settings.other_connections();
  std::string who;
  for (const Writer& writer : writers) {
    needed += writer.concurrency;
    who += (who.empty() ? "" : ", ") + writer.handler + ": " + std::to_string(writer.concurrency);
  }
  if (who.empty() || needed <= settings.database.connections) return std::nullopt;
  return base::Problem{"database.connections is " + std::to_string(settings.database.connections) + ", and " +
                       std::to_string(needed) +
                       " are needed: `concurrency` of each handler that writes in transactions (" + who +
                       "), ingest.connections (" + std::to_string(settings.ingest.connections) + ") and " +
                       std::to_string(settings.other_connections()) + " more; raise it, or lower concurrency"};
}

PreparedHandlers prepare_handlers(inbox::Connection& connection, const config::Settings& settings,
                                  const inbox::InstanceIdentity& instance, inbox::Watchdog& watchdog, base::Logger& log,
                                  const std::vector<inbox::Registered>& before) {
  const std::vector<config::Handler>& handlers = settings.handlers;
  PreparedHandlers out;
  const auto search_path = plugin::default_search_path();
  connection.close();  // the describer's takes its place meanwhile
  auto database = inbox::database_describer(settings.database, watchdog, log);
  for (const config::Handler& handler : handlers) {
    NotingMissing describer{*database};
    auto loaded = plugin::load(handler, search_path, log, &describer);
    if (!loaded) {
      out.refusal = Refusal{describer.is_missing() ? ExitCode::try_again : ExitCode::configuration,
                            "handler " + handler.name + ": " + loaded.problem().message};
      return out;
    }
    dispatcher::HandlerSetup setup;
    setup.settings = handler;
    setup.instance = std::move(loaded).value();
    out.handlers.push_back(std::move(setup));
  }
  database.reset();
  std::vector<Writer> writers;
  for (const auto& setup : out.handlers) {
    if (setup.instance->needs().sql) writers.push_back({setup.settings.name, setup.settings.concurrency});
  }
  if (const auto problem = connections_problem(writers, settings)) {
    out.refusal = Refusal{ExitCode::configuration, problem->message};
    return out;
  }
  put_into_database(connection, settings, instance, before, watchdog, log, out);
  connection.close();  // until the next reload; `--until-idle` has its place
  return out;
}

PreparedHandlers prepare(inbox::Connection& connection, const config::Settings& settings,
                         const inbox::InstanceIdentity& instance, bool migrate, inbox::Watchdog& watchdog,
                         const Notify& notify, base::Logger& log) {
  if (auto refusal = prepare_database(connection, settings, migrate, watchdog, notify, log)) {
    return {{}, std::move(refusal)};
  }
  notify.status("preparing handlers");
  const auto end = std::chrono::steady_clock::now() + settings.database.deadline;
  base::Repeats repeats;
  while (true) {
    auto prepared = prepare_handlers(connection, settings, instance, watchdog, log);
    const auto now = std::chrono::steady_clock::now();
    const bool may_come = prepared.refusal && prepared.refusal->code == ExitCode::try_again;
    if (!may_come || now >= end || watchdog.is_over(now)) return prepared;
    notify.status("waiting for what a handler's statement names: " + prepared.refusal->message);
    if (repeats.is_news(prepared.refusal->message)) {
      log.warn("daemon: waiting for what a handler's statement names", {{"reason", prepared.refusal->message}});
    }
    std::this_thread::sleep_for(look_again);
  }
}

}  // namespace inboxd::daemon
