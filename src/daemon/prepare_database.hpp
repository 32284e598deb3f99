#pragma once
#include <optional>
#include <string>

#include "base/exit_code.hpp"
#include "base/logger.hpp"
#include "config/settings.hpp"
#include "daemon/notify.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::daemon {

/// Why the daemon cannot start, and the exit status.
struct Refusal {
  base::ExitCode code = base::ExitCode::bug;
  std::string message;
};

/// `subject: message`, with the exit status for the SQLSTATE.
Refusal refusal_of(const inbox::DatabaseFailure& failure, const std::string& subject);

/// Waits for the database (at most database.deadline), applies migrations if asked to, checks the schema and makes day
/// partitions. Ends early when the connection's watchdog ends. Tells systemd about slow steps.
std::optional<Refusal> prepare_database(inbox::Connection& connection, const config::Settings& settings, bool migrate,
                                        const inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log);

}  // namespace inboxd::daemon
