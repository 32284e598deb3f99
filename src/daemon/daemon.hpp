#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "consumer/consumer.hpp"
#include "daemon/activity_sampler.hpp"
#include "daemon/prepare_handlers.hpp"
#include "history/history.hpp"
#include "inbox/registrations.hpp"
#include "inbox/watchdog.hpp"
#include "maintenance/maintenance.hpp"
#include "relay/relay.hpp"
#include "settler/settler.hpp"
#include "trace/tracer.hpp"
#include "webhook/port.hpp"
#include "workers/dispatcher.hpp"

namespace inboxd::daemon {

/// The daemon's progress in a dozen numbers, for `systemctl status`.
struct StatusFigures {
  std::int64_t reading = 0;      ///< partitions
  std::int64_t assigned = 0;
  std::int64_t halted = 0;
  std::int64_t lag = 0;          ///< records, of partitions with a known lag
  std::int64_t lag_unknown = 0;  ///< partitions
  std::uint64_t stored = 0;      ///< since the start, like the next four
  std::uint64_t done = 0;
  std::uint64_t retried = 0;
  std::uint64_t dead = 0;
  std::uint64_t expired = 0;
  bool is_paused = false;
};

/// Records and outcomes since the start of this process.
struct Totals {
  std::uint64_t stored = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t done = 0;
  std::uint64_t retried = 0;
  std::uint64_t dead = 0;
  std::uint64_t expired = 0;
  std::uint64_t leases_lost = 0;
};

/// `handler mail is stopped: 3 calls never returned; fix it and restart`.
std::string stopped_text(const std::string& handler, int calls);

/// `handler mail: 3 workers have no database session: too many connections …`.
std::string no_session_text(const std::string& handler, const dispatcher::MissingSessions::State& missing);

/// How long a loop may go without a heartbeat, for a statement or a reconnection. A longer pause is a stall.
std::chrono::milliseconds stall_limit(const config::Settings& settings);

/// Builds and connects all parts; the members, in order, are the architecture. Intake stops first.
class Daemon final {
 public:
  Daemon(const config::Settings& settings, const base::Uuid& owner, base::Logger& log);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::optional<Refusal> start(PreparedHandlers prepared);
  /// Stops intake, waits for running calls (at most `drain`), records their outcomes and releases the rest. Ends about
  /// three seconds after the drain at the latest, even if the database hangs.
  void stop(std::chrono::milliseconds drain);
  /// For a reload: new handlers and policies.
  void replace_handlers(PreparedHandlers prepared);
  /// Ends the handlers of a refused reload. Any thread.
  void discard(std::vector<dispatcher::HandlerSetup> handlers) { dispatcher_.discard(std::move(handlers)); }
  /// For a reload that adds the first local topic.
  void read_local_topics() { consumer_.read_local_topics(); }
  /// For a reload: topics, tokens and secrets of events over HTTP.
  void set_webhooks(const config::Settings& settings) { webhooks_.set_topics(settings); }
  void set_retention(const config::Settings& settings) { maintenance_.set_retention(settings); }
  /// Pauses or resumes all handlers in this instance; false: nothing changed. Any thread.
  bool pause_all(bool paused, const std::string& actor);
  bool is_paused() const;
  /// Before a change of their order: no call begins until they are replaced, or opened again. Any thread.
  void close_for_order(const std::set<std::int32_t>& handlers, bool closed);
  /// In flight, also those that are not settled yet. Any thread.
  std::int64_t events_of(const std::set<std::int32_t>& handlers) const;
  /// For table audit: a request to this instance. Any thread.
  void note(const std::string& actor, const std::string& operation) {
    maintenance_.note({actor, operation, "this instance"});
  }
  /// The running handlers, by id. Any thread.
  std::map<std::int32_t, std::string> handlers() const;
  /// Their registrations. Any thread.
  std::vector<inbox::Registered> registered() const { return registrations_.get(); }

  /// For records that come from elsewhere than the consumer.
  consumer::HandOff& hand_off() { return dispatcher_; }
  consumer::Consumer& consumer() { return consumer_; }
  const consumer::Consumer& consumer() const { return consumer_; }
  const dispatcher::Dispatcher& dispatcher() const { return dispatcher_; }
  const settler::Settler& settler() const { return settler_; }
  const maintenance::Maintenance& maintenance() const { return maintenance_; }
  const relay::Relay& relay() const { return relay_; }
  const webhook::Port& webhooks() const { return webhooks_; }
  const trace::Counts& traces() const { return tracer_->counts(); }
  const inbox::ConnectionCounts& connections() const { return watchdog_.counts(); }
  /// Configured handlers were retired or restored since the last call.
  bool take_stale_handlers() { return maintenance_.take_stale_handlers(); }
  bool failed() const { return consumer_.failed() || maintenance_.failed(); }
  /// Every loop except the main thread's, for systemd's watchdog and /livez.
  std::vector<base::Loop> loops() const;
  /// Logs stored and settled events since the last call.
  void log_rates();
  Totals totals() const;
  StatusFigures status() const;
  /// Adds a step to the history if one has ended; the main thread only.
  void record_history();
  history::History& history() { return history_; }

 private:
  void set_handlers(PreparedHandlers prepared);
  void await_own_sessions() const;
  /// For `inboxd status`, from all instances.
  std::optional<std::string> current_problem() const;
  std::vector<std::string> low_limits() const;
  history::Sample history_sample() const;
  void note_faults();
  /// For `inboxd status`, too; the maintenance thread only.
  std::vector<inbox::HandlerActivity> current_activity(const std::map<std::int32_t, std::int64_t>& pending);

  base::Logger& log_;
  inbox::Watchdog watchdog_;
  const std::string group_;
  const std::shared_ptr<trace::Tracer> tracer_;
  inbox::Registrations registrations_;
  relay::Relay relay_;
  settler::Settler settler_;
  dispatcher::Dispatcher dispatcher_;
  consumer::Consumer consumer_;
  webhook::Port webhooks_;
  ActivitySampler activity_;  ///< maintenance thread
  history::History history_;
  maintenance::Maintenance maintenance_;
  const std::int64_t own_sessions_;  ///< of ingesters, local reader, ingest right, settler, maintenance, relay

  mutable base::Mutex handlers_mutex_;
  std::map<std::int32_t, std::string> handlers_ GUARDED_BY(handlers_mutex_);
  std::vector<std::string> low_limits_ GUARDED_BY(handlers_mutex_);  ///< PreparedHandlers::low_limits
  bool paused_ GUARDED_BY(handlers_mutex_) = false;

  std::map<std::string, std::string> faults_;  ///< that last, by kind and name; main thread
  std::uint64_t last_stored_ = 0;  ///< at the last log_rates(); main thread
  std::uint64_t last_done_ = 0;
};

}  // namespace inboxd::daemon
