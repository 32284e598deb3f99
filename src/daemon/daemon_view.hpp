#pragma once
#include <chrono>
#include <string>

#include "admin/http_server.hpp"
#include "base/heartbeat.hpp"
#include "base/mutex.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "daemon/daemon.hpp"
#include "operations/running_daemon.hpp"

namespace inboxd::daemon {

/// The admin port's view of the daemon, from before its start until after its end. Any thread.
class DaemonView final : public operations::RunningDaemon {
 public:
  DaemonView(const config::Settings& settings, base::Uuid owner, const base::Logger& log);

  /// The daemon has started; the view uses it until `detach`.
  void attach(Daemon& daemon);
  /// The main thread's heartbeat, for /livez. Looks for lost lines of the log, for /readyz.
  void beat();
  void stopping();
  void detach();
  /// Set before the port starts.
  void set_http(const admin::HttpServer::Counts& counts) { http_ = &counts; }
  void reloaded(bool succeeded);
  /// The configuration in force: call before the port starts, and after a reload.
  void set_in_force(const config::Loaded& loaded);

  operations::Health health(operations::Probe probe) const override;
  std::string metrics() const override;
  operations::Document describe() const override;
  history::View history(history::Span span) const override;
  std::vector<history::Mark> marks() const override;
  Identity identity() const override;
  config::Loaded in_force() const override;
  bool pause_all(bool paused, const std::string& actor) override;

 private:
  using Clock = std::chrono::steady_clock;

  const config::Settings settings_;
  const base::Uuid owner_;
  const base::Logger& log_;
  const std::int64_t began_us_;  ///< wall clock
  const admin::HttpServer::Counts* http_ = nullptr;
  base::Heartbeat heartbeat_;
  std::uint64_t lost_lines_ = 0;  ///< as the main thread saw them last
  Clock::time_point line_lost_{};
  std::atomic<bool> loses_lines_{false};

  mutable base::SharedMutex mutex_;
  config::Loaded in_force_ GUARDED_BY(mutex_);
  Daemon* daemon_ GUARDED_BY(mutex_) = nullptr;
  Clock::time_point attached_ GUARDED_BY(mutex_){};
  bool was_attached_ GUARDED_BY(mutex_) = false;
  bool last_reload_succeeded_ GUARDED_BY(mutex_) = true;
  std::int64_t last_reload_us_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace inboxd::daemon
