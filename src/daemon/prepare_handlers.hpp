#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/logger.hpp"
#include "base/result.hpp"
#include "base/uuid.hpp"
#include "config/load.hpp"
#include "config/settings.hpp"
#include "daemon/notify.hpp"
#include "daemon/prepare_database.hpp"
#include "inbox/connection.hpp"
#include "inbox/upkeep.hpp"
#include "plugin/loader.hpp"
#include "transaction/handler_sql.hpp"
#include "workers/dispatcher.hpp"

namespace inboxd::daemon {

/// This process, as the database knows it.
inbox::InstanceIdentity identity_of(const base::Uuid& instance_id, const config::Settings& settings);

/// A handler that writes in transactions: each of its workers has a connection.
struct Writer {
  std::string handler;
  int concurrency = 0;
};
/// The most sessions that an instance opens.
int connections_needed(const std::vector<Writer>& writers, const config::Settings& settings);
/// A problem if database.connections is too small for all.
std::optional<base::Problem> connections_problem(const std::vector<Writer>& writers, const config::Settings& settings);

/// Forwards a plugin's questions about its statements, and records the last error.
class RecordingDescriber final : public transaction::SqlDescriber {
 public:
  explicit RecordingDescriber(transaction::SqlDescriber* describer) : describer_{describer} {}
  std::unique_ptr<transaction::SqlResult> describe(const transaction::SqlStatement& statement) override;

  /// The statement names an object that the database does not have.
  bool is_missing() const;
  struct Wrong {
    std::string text;
    transaction::SqlError error;
  };
  const std::optional<Wrong>& wrong() const { return wrong_; }

 private:
  transaction::SqlDescriber* describer_;
  std::optional<Wrong> wrong_;
};

/// `file:line:column` of a plugin's refusal: the mistake in a statement that is the text of a setting, else the
/// plugin's settings.
std::string place_of_refusal(const config::Loaded& file, std::size_t handler, const RecordingDescriber& asked);

struct PreparedHandlers {
  std::vector<dispatcher::HandlerSetup> handlers = {};
  std::set<std::int32_t> retired = {};  ///< ids of configured handlers that do not run
  std::vector<std::string> low_limits = {};  ///< of the database: fewer sessions than this configuration needs
  std::optional<Refusal> refusal = {};
};

/// Loads the plugin of every configured handler that is not retired, and registers the handlers for `instance`. All or
/// nothing: a refused plugin leaves the database unchanged. If a statement names a missing object, the refusal says
/// `try_again`, because the application's migration may run later. Opens a single connection at a time, and has closed
/// all when it returns. `before`, for a reload: the registrations of this process, in case the database lost them.
/// `is_in_force`: `file` has not just been read, so a newer configuration may have changed the handlers since.
PreparedHandlers prepare_handlers(inbox::Connection& connection, const config::Settings& settings,
                                  const config::Loaded& file, const inbox::InstanceIdentity& instance,
                                  plugin::Loader& plugins, inbox::Watchdog& watchdog, base::Logger& log,
                                  const std::vector<inbox::Registered>& before = {},
                                  bool is_in_force = false);

/// Database and handlers, for a start. Waits at most database.deadline for objects that statements name.
PreparedHandlers prepare(inbox::Connection& connection, const config::Loaded& file,
                         const inbox::InstanceIdentity& instance, plugin::Loader& plugins, bool migrate,
                         inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log);

}  // namespace inboxd::daemon
