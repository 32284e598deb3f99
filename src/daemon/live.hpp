#pragma once
#include <atomic>
#include <chrono>
#include <shared_mutex>
#include <string>

#include "admin/http_server.hpp"
#include "admin/live.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "daemon/daemon.hpp"

namespace inboxd::daemon {

/// What the admin port sees of the daemon, from before it is there until after it is gone. Any thread.
class LiveDaemon final : public admin::Live {
 public:
  LiveDaemon(const config::Settings& settings, base::Uuid owner, const base::Logger& log);

  /// The daemon has started; until `detach` it may be asked.
  void attach(Daemon& daemon);
  /// The main thread has looked after it once more: /livez hangs on that, too.
  void attended() { attended_ = Clock::now(); }
  void stopping();
  void detach();
  /// Set before the port starts.
  void set_http(const admin::HttpServer::Counts& counts) { http_ = &counts; }
  void reloaded(bool worked);
  /// What is in force from now on: before the port starts, and after a reload.
  void set_in_force(const config::Loaded& loaded);

  admin::Health health(admin::Probe probe) const override;
  std::string metrics() const override;
  admin::Document describe() const override;
  config::Loaded in_force() const override;
  bool pause_all(bool paused, const std::string& actor) override;

 private:
  using Clock = std::chrono::steady_clock;

  const config::Settings settings_;
  const base::Uuid owner_;
  const base::Logger& log_;
  const std::int64_t began_us_;  ///< wall clock
  const admin::HttpServer::Counts* http_ = nullptr;
  std::atomic<Clock::time_point> attended_{};

  mutable std::shared_mutex mutex_;  // guards the following
  config::Loaded in_force_;
  Daemon* daemon_ = nullptr;
  Clock::time_point attached_{};
  bool was_attached_ = false;
  bool reload_worked_ = true;
  std::int64_t last_reload_us_;
  bool stopping_ = false;
};

/// A loop may be busy with one statement or one reopening for so long: beyond that it hangs.
std::chrono::milliseconds longest_standstill(const config::Settings& settings);

}  // namespace inboxd::daemon
