#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/loop.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "consumer/consumer.hpp"
#include "daemon/preparation.hpp"
#include "daemon/status.hpp"
#include "dispatcher/dispatcher.hpp"
#include "inbox/registrations.hpp"
#include "inbox/watchdog.hpp"
#include "maintenance/maintenance.hpp"
#include "settler/settler.hpp"
#include "trace/tracer.hpp"

namespace inboxd::daemon {

/// All parts and how they hang together: the members, in order, are the picture. What takes in stops first.
class Daemon final {
 public:
  Daemon(const config::Settings& settings, const base::Uuid& owner, base::Logger& log);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::optional<base::Problem> start(std::vector<dispatcher::HandlerSetup> handlers);
  /// Intake first, then running calls for at most `drain`, then what they reported; the rest is given back. Ends about
  /// three seconds after the drain at the latest, also where the database hangs.
  void stop(std::chrono::milliseconds drain);
  /// A reload: other handlers, other policies.
  void replace_handlers(std::vector<dispatcher::HandlerSetup> handlers);
  /// Those of a reload that is refused. Any thread.
  void discard(std::vector<dispatcher::HandlerSetup> handlers) { dispatcher_.discard(std::move(handlers)); }
  void set_retention(const config::Retention& retention) { maintenance_.set_retention(retention); }
  /// Takes nothing new for any handler in this instance until told otherwise; false: it was so already. Any thread.
  bool pause_all(bool paused, const std::string& actor);
  bool is_paused() const;
  /// For table audit: what was asked of this instance. Any thread.
  void note(const std::string& actor, const std::string& operation) {
    maintenance_.note({actor, operation, "this instance"});
  }
  /// The handlers that this process runs, by id. Any thread.
  std::map<std::int32_t, std::string> handlers() const;
  /// As what it has registered them. Any thread.
  std::vector<inbox::Registered> registered() const { return registrations_.get(); }

  consumer::Consumer& consumer() { return consumer_; }
  const consumer::Consumer& consumer() const { return consumer_; }
  const dispatcher::Dispatcher& dispatcher() const { return dispatcher_; }
  const settler::Settler& settler() const { return settler_; }
  const maintenance::Maintenance& maintenance() const { return maintenance_; }
  const trace::Counts& traces() const { return tracer_->counts(); }
  const inbox::ConnectionCounts& connections() const { return watchdog_.counts(); }
  bool failed() const { return consumer_.poller().failed() || maintenance_.failed(); }
  /// What the service manager's watchdog and /livez hang on: every loop but the main thread's.
  std::vector<base::Loop> loops() const;
  /// One line for people: what came in and what was settled since the last call.
  void log_rates();
  Totals totals() const;
  StatusFigures status() const;

 private:
  void set_handlers(std::vector<dispatcher::HandlerSetup> handlers);
  std::optional<std::string> trouble() const;

  base::Logger& log_;
  inbox::Watchdog watchdog_;
  const std::string group_;
  const std::shared_ptr<trace::Tracer> tracer_;
  inbox::Registrations registrations_;
  settler::Settler settler_;
  dispatcher::Dispatcher dispatcher_;
  consumer::Consumer consumer_;
  maintenance::Maintenance maintenance_;

  mutable std::mutex handlers_mutex_;          // guards the following; main thread and admin port
  std::map<std::int32_t, std::string> handlers_;
  std::vector<std::int32_t> running_handlers_; ///< those that no operator has paused in the database
  bool paused_ = false;
  std::uint64_t last_stored_ = 0;
  std::uint64_t last_done_ = 0;
};

}  // namespace inboxd::daemon
