#include "base/presence.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <utility>

namespace inboxd::base {
namespace {

struct Bound {
  Socket socket;
  bool is_taken = false;  ///< another process has the name
};

Bound bind_name(const Uuid& id) {
  Socket socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!socket) return {Socket{}, false};
  const std::string name = "inboxd/" + id.text();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);  // the first byte is NUL: an abstract name
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return {std::move(socket), false};
  return {Socket{}, errno == EADDRINUSE};
}

}  // namespace

std::string this_boot() {
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  struct stat network {};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0) return "";
  return boot + "/" + std::to_string(network.st_ino);
}

Presence::Presence(const Uuid& id) : socket_{bind_name(id).socket} {}

bool is_present(const Uuid& id) { return bind_name(id).is_taken; }

bool may_be_present(const Uuid& id) {
  const Bound bound = bind_name(id);
  return bound.is_taken || !bound.socket;
}

}  // namespace inboxd::base
