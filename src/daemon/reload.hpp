#pragma once
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "config/load.hpp"
#include "daemon/daemon.hpp"
#include "daemon/preparation.hpp"
#include "inbox/connection.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::daemon {

/// SIGHUP: the file is read again; all of it is taken or, where anything is wrong, none of it. Reading it loads plugins
/// and asks the database, however long that takes, so it is done in a thread of its own: the main one, which calls all
/// of this, goes on hearing signals and telling systemd that it lives.
class Reload final {
 public:
  /// `connection` is used by nobody else from now on; where `watchdog` cuts it, a running reload is refused at once.
  Reload(config::Loaded& loaded, std::string file, inbox::InstanceIdentity instance, inbox::Connection& connection,
         inbox::Watchdog& watchdog, Daemon& daemon, base::Logger& log);
  /// Waits for one that runs: first request_stop() and join().
  ~Reload() = default;
  Reload(const Reload&) = delete;
  Reload& operator=(const Reload&) = delete;

  /// Asks for one. The file may change while one runs: then there is another behind it.
  void ask() { is_asked_for_ = true; }
  bool is_running() const { return reading_.valid(); }
  /// Whether what is in force may change soon.
  bool is_pending() const { return is_asked_for_ || is_running(); }
  /// Begins what was asked for; false: nothing is to be begun now.
  bool begin();
  /// Takes what one that ran has read: whether it worked. Nothing where none has ended. One that could not begin has
  /// ended, too.
  std::optional<bool> end();
  /// While none is being taken.
  const config::Loaded& in_force() const { return loaded_; }

  /// One that runs is wanted no more: what it has made ends with it. Before the daemon stops.
  void request_stop();
  /// False: it has not ended by then (a plugin does not come back from being made, or from being ended), and goes on
  /// using what it was given.
  bool join(std::chrono::steady_clock::time_point until);

 private:
  struct Read {
    config::Loaded loaded = {};
    std::vector<dispatcher::HandlerSetup> handlers = {};
    bool is_refused = false;  ///< handlers: those that were made by then
  };
  /// Who sees to what was read: the one that comes second.
  enum class Step { reading, read, unwanted };

  Read read(const config::Settings& before);
  void take(Read read);
  void refuse(const std::string& reason);

  config::Loaded& loaded_;
  const std::string file_;
  const inbox::InstanceIdentity instance_;
  inbox::Connection& connection_;
  inbox::Watchdog& watchdog_;
  Daemon& daemon_;
  base::Logger& log_;
  bool is_asked_for_ = false;
  bool has_no_thread_ = false;
  std::atomic<Step> step_{Step::reading};
  std::future<Read> reading_;
};

}  // namespace inboxd::daemon
