#pragma once
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.hpp"

namespace inboxd::daemon {

/// Sends the service's state to systemd, over the datagram socket in $NOTIFY_SOCKET; without a socket, does nothing.
/// Never blocks. If the socket is full, changes of state are kept and sent before the next message; a status or a
/// heartbeat is dropped. Any thread.
class Notify final {
 public:
  Notify();

  void ready() const { change("READY=1"); }
  void stopping() const { change("STOPPING=1"); }
  void reloading() const;
  /// Shown by `systemctl status` until the next status.
  void status(std::string_view text) const;
  /// A heartbeat. False: dropped.
  bool alive() const { return send("WATCHDOG=1"); }

  /// The interval for `alive` (half of $WATCHDOG_USEC); nullopt: no watchdog.
  std::optional<std::chrono::microseconds> alive_interval() const { return alive_interval_; }

 private:
  void change(std::string state) const;
  bool send(const std::string& message) const;
  bool deliver_changes() const REQUIRES(mutex_);
  bool deliver(const std::string& message) const;

  std::string socket_;
  mutable base::Mutex mutex_;
  mutable std::deque<std::string> undelivered_ GUARDED_BY(mutex_);  ///< changes of state
  std::optional<std::chrono::microseconds> alive_interval_;
};

}  // namespace inboxd::daemon
