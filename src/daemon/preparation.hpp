#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "daemon/notify.hpp"
#include "dispatcher/dispatcher.hpp"
#include "inbox/connection.hpp"
#include "inbox/upkeep.hpp"

namespace inboxd::daemon {

/// Why the daemon cannot start, and with what exit status.
struct Refusal {
  base::ExitCode code = base::ExitCode::bug;
  std::string message;
};

/// Waits for the database (as long as one statement may take), migrates where asked to, checks that the schema fits and
/// that today's partitions are there. Gives up where the connection's watchdog says that it is over. systemd is told
/// what takes its time.
std::optional<Refusal> prepare_database(inbox::Connection& connection, const config::Settings& settings, bool migrate,
                                        const inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log);

/// A handler that writes in transactions: each of its workers has a connection.
struct Writer {
  std::string handler;
  int concurrency = 0;
};
/// Whether there are connections enough for all (database.connections).
std::optional<base::Problem> connections_problem(const std::vector<Writer>& writers, const config::Settings& settings);

/// This process, as the database knows it.
inbox::InstanceIdentity identity_of(const base::Uuid& instance_id);

/// Loads the plugin of every configured handler and puts the handlers into the database, where `instance` is known from
/// then on to have taken them up. All of it or nothing: a plugin that is refused leaves the database as it was. Where a
/// statement names what the database does not have, the refusal says `try_again`: whoever makes the application's
/// tables may not have come to it yet. One connection is open at a time, `connection` or the one that statements are
/// read over, and none when this returns. `before`: what this process has registered so far, for a reload: the database
/// may have forgotten it.
struct PreparedHandlers {
  std::vector<dispatcher::HandlerSetup> handlers;
  std::optional<Refusal> refusal;
};
PreparedHandlers prepare_handlers(inbox::Connection& connection, const config::Settings& settings,
                                  const inbox::InstanceIdentity& instance, inbox::Watchdog& watchdog, base::Logger& log,
                                  const std::vector<inbox::Registered>& before = {});

/// Both, for a start: what a handler's statement names and the database does not have yet is waited for as long, too.
PreparedHandlers prepare(inbox::Connection& connection, const config::Settings& settings,
                         const inbox::InstanceIdentity& instance, bool migrate, inbox::Watchdog& watchdog,
                         const Notify& notify, base::Logger& log);

}  // namespace inboxd::daemon
