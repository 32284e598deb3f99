#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::daemon {

/// Tells systemd how the service fares, over the datagram socket that $NOTIFY_SOCKET names. Without one it does
/// nothing.
class Notify final {
 public:
  Notify();

  void ready() const { send("READY=1"); }
  void stopping() const { send("STOPPING=1"); }
  void reloading() const;
  /// What `systemctl status` shows, until the next.
  void status(std::string_view text) const;
  void alive() const { send("WATCHDOG=1"); }

  /// How often systemd wants to hear `alive` (half of $WATCHDOG_USEC), where it does.
  std::optional<std::chrono::microseconds> alive_every() const { return alive_every_; }

 private:
  void send(const std::string& message) const;

  std::string socket_;
  std::optional<std::chrono::microseconds> alive_every_;
};

}  // namespace inboxd::daemon
