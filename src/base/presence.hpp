#pragma once
#include <string>

#include "base/socket.hpp"
#include "base/uuid.hpp"

namespace inboxd::base {

/// The kernel's boot and the network namespace of this process, within which a Presence is visible. Containers of a pod
/// share it, and a container that restarts keeps it. Empty: unknown.
std::string this_boot();

/// Shows that this process lives: a name that the kernel frees when the process has ended, however it ended (an
/// abstract Unix socket; programs that this process starts do not inherit it).
class Presence final {
 public:
  explicit Presence(const Uuid& id);
  /// False if the kernel refused it, such as in a sandbox without Unix sockets.
  bool is_shown() const { return static_cast<bool>(socket_); }

 private:
  Socket socket_;
};

/// Whether a process with this id lives on this boot and network namespace. False, too, if that cannot be told.
bool is_present(const Uuid& id);
/// As is_present. True, too, if that cannot be told.
bool may_be_present(const Uuid& id);

}  // namespace inboxd::base
