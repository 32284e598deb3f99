#pragma once
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/logger.hpp"
#include "config/load.hpp"
#include "daemon/daemon.hpp"
#include "daemon/prepare_handlers.hpp"
#include "inbox/connection.hpp"
#include "inbox/watchdog.hpp"
#include "plugin/loader.hpp"

namespace inboxd::daemon {

/// Reads the configuration again and applies all of it, or nothing if anything is wrong. Plugins and the database may
/// be slow, so a reload prepares in its own thread. The main thread calls all functions, and keeps serving signals.
class Reload final {
 public:
  /// Only the reload uses `plugins` and `connection` from now on. If `watchdog` cuts the connection, a running reload
  /// is refused at once.
  Reload(config::Loaded& loaded, std::string file, inbox::InstanceIdentity instance, plugin::Loader& plugins,
         inbox::Connection& connection, inbox::Watchdog& watchdog, Daemon& daemon, base::Logger& log);
  /// Waits for a running reload: call request_stop() and join() first.
  ~Reload() = default;
  Reload(const Reload&) = delete;
  Reload& operator=(const Reload&) = delete;

  /// Requests a reload of the file; during a reload, another reload follows.
  void request() { is_requested_ = reads_file_ = true; }
  /// Requests to prepare the handlers of the configuration in force again, after some were retired or restored, or
  /// after a file of a secret has changed. The rows of handlers stay as a newer configuration may have left them.
  void request_for_handlers() { is_requested_ = true; }
  bool is_running() const { return reading_.valid(); }
  /// The configuration in force may change soon.
  bool is_pending() const { return is_requested_ || is_running(); }
  /// Begins a requested reload; false: none begins now.
  bool begin();
  /// Applies a reload that has ended, and returns whether it succeeded; nullopt: none has ended. A reload that could
  /// not begin has failed.
  std::optional<bool> finish();
  const config::Loaded& in_force() const { return loaded_; }

  /// Abandons a running reload and its handlers. Call before the daemon stops.
  void request_stop();
  /// False: a plugin's creation or end hangs, and the thread still uses the reload's arguments.
  bool join(std::chrono::steady_clock::time_point until);

 private:
  struct Read {
    config::Loaded loaded = {};
    PreparedHandlers prepared = {};
    bool is_refused = false;  ///< `prepared` has the handlers made so far
  };
  /// reading --> read, by the thread, or abandoned, by a stop. They race: the second to finish discards the handlers.
  enum class Step { reading, read, abandoned };
  /// Returns the step before. Any thread.
  Step change(Step to);

  Read read(const config::Settings& before, const config::Loaded& loaded, bool is_in_force);
  /// Running handlers that `next` gives another order.
  std::set<std::int32_t> reordered(const config::Settings& next) const;
  void take(Read read);
  void refuse(const std::string& reason);

  config::Loaded& loaded_;
  const std::string file_;
  const inbox::InstanceIdentity instance_;
  plugin::Loader& plugins_;
  inbox::Connection& connection_;
  inbox::Watchdog& watchdog_;
  Daemon& daemon_;
  base::Logger& log_;
  bool is_requested_ = false;
  bool reads_file_ = false;
  bool has_failed_to_begin_ = false;
  std::atomic<Step> step_{Step::reading};
  std::future<Read> reading_;
};

}  // namespace inboxd::daemon
