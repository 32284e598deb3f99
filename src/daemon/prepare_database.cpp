#include "daemon/prepare_database.hpp"

#include <chrono>
#include <string_view>
#include <thread>

#include "base/repeats.hpp"
#include "config/shared_topics.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "inbox/ingest_right.hpp"
#include "inbox/login_refusal.hpp"
#include "inbox/migrations.hpp"
#include "inbox/upkeep.hpp"

namespace inboxd::daemon {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;

constexpr auto retry_after = 500ms;
constexpr int partition_days_ahead = 7;
constexpr std::string_view lock_not_available = "55P03";
constexpr std::string_view not_allowed = "42501";

std::optional<Refusal> wait_for_database(inbox::Connection& connection, const config::Settings& settings,
                                const inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log) {
  const auto end = std::chrono::steady_clock::now() + settings.database.deadline;
  base::Repeats repeats;
  while (true) {
    const auto failure = inbox::database_failure_of([&] { connection.open(); });
    if (!failure) return std::nullopt;
    const auto now = std::chrono::steady_clock::now();
    const bool is_final = failure->sqlstate == not_allowed || inbox::is_login_refused(failure->sqlstate) ||
                          inbox::is_unusable_database(failure->sqlstate);
    if (is_final || now >= end || watchdog.must_end(now)) {
      return refusal_of(*failure, "database " + connection.where());
    }
    notify.status("waiting for the database: " + failure->message);
    if (repeats.is_news(failure->message)) {
      log.warn("daemon.waiting_for_database", {{"database", connection.where()}, {"error", failure->message}});
    }
    std::this_thread::sleep_for(retry_after);
  }
}

void warn_of_changed_migrations(inbox::Connection& connection, const std::string& schema, base::Logger& log) {
  for (const std::string& name : inbox::changed_migrations(connection, schema)) {
    log.warn("daemon.migration_differs", {{"schema", schema}, {"migration", name}});
  }
}

std::optional<Refusal> check_schema(inbox::Connection& connection, const config::Settings& settings, bool migrate,
                                    const Notify& notify, base::Logger& log) {
  const auto& schema = settings.database.schema;
  if (migrate) {
    const auto state = inbox::migrate(connection, schema, [&](const inbox::Migration& migration) {
      notify.status("migrating: " + migration.name);
      log.info("daemon.migrating", {{"schema", schema}, {"migration", migration.name}});
    });
    if (!state) return Refusal{ExitCode::configuration, state.problem().message};
    warn_of_changed_migrations(connection, schema, log);
    return std::nullopt;
  }
  const auto state = inbox::migration_state(connection, schema);
  if (state.newer()) {
    return Refusal{ExitCode::configuration, inbox::newer_than_program(state).message};
  }
  if (state.due()) {
    return Refusal{ExitCode::try_again, inbox::migrations_due(state, schema).message};
  }
  warn_of_changed_migrations(connection, schema, log);
  return std::nullopt;
}

/// A database that reads other partitions than before would leave out some, and others would have two.
std::optional<Refusal> check_shard(inbox::Connection& connection, const config::Settings& settings) {
  const auto& [index, of, lease] = settings.shard;
  std::optional<inbox::RecordedShard> recorded;
  const auto failure =
      inbox::database_failure_of([&] { recorded = inbox::record_shard(connection, {index, of}); });
  if (failure) return refusal_of(*failure, "database " + connection.where());
  const auto text =
      config::recorded_text(settings.database.schema, {recorded->index, recorded->of}, settings.shard);
  return text.empty() ? std::nullopt : std::optional{Refusal{ExitCode::configuration, text}};
}

std::optional<Refusal> make_day_partitions(inbox::Connection& connection, base::Logger& log) {
  const auto failure = inbox::database_failure_of([&] { inbox::make_partitions(connection, partition_days_ahead); });
  if (!failure) return std::nullopt;
  if (failure->sqlstate != lock_not_available) return refusal_of(*failure, "database " + connection.where());
  log.warn("daemon.day_partitions_postponed", {{"error", failure->message}});
  return std::nullopt;
}

}  // namespace

Refusal refusal_of(const inbox::DatabaseFailure& failure, const std::string& subject) {
  if (failure.sqlstate == not_allowed) {
    return {ExitCode::not_allowed,
            subject + ": not allowed: " + failure.message + "; use a role with that right (see sql/roles.sql)"};
  }
  if (inbox::is_login_refused(failure.sqlstate)) {
    return {ExitCode::not_allowed,
            subject + ": not allowed: " + failure.message + "; " + inbox::login_remedy(failure.message)};
  }
  if (failure.fault == inbox::Fault::stop || inbox::is_unusable_database(failure.sqlstate)) {
    return {ExitCode::configuration, subject + ": " + failure.message};
  }
  return {ExitCode::unavailable, subject + ": " + failure.message};
}

std::optional<Refusal> prepare_database(inbox::Connection& connection, const config::Settings& settings, bool migrate,
                                        const inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log) {
  if (auto refusal = wait_for_database(connection, settings, watchdog, notify, log)) return refusal;
  std::optional<Refusal> refusal;
  const auto failure =
      inbox::database_failure_of([&] { refusal = check_schema(connection, settings, migrate, notify, log); });
  if (failure) {
    const std::string subject = "database " + connection.where();
    if (failure->sqlstate != lock_not_available) return refusal_of(*failure, subject);
    return Refusal{ExitCode::try_again, subject + ": not migrated, another session holds a lock: " + failure->message};
  }
  if (refusal) return refusal;
  if (auto other = check_shard(connection, settings)) return other;
  return make_day_partitions(connection, log);
}

}  // namespace inboxd::daemon
