#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "admin/http_message.hpp"
#include "base/result.hpp"
#include "base/socket.hpp"

namespace inboxd::admin {

using base::Socket;

/// A listening socket: a port of an address, or a Unix socket, whose file the destructor removes.
class Listener final {
 public:
  Listener(Socket socket, std::string where, std::string file);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  ~Listener();

  int descriptor() const { return socket_.get(); }
  const std::string& where() const { return where_; }
  bool is_unix() const { return !file_.empty(); }
  /// The next connection and its client; no socket: see errno.
  std::pair<Socket, Peer> accept() const;

 private:
  Socket socket_;
  std::string where_;
  std::string file_;
};

/// Why a listener could not be opened.
struct ListenProblem {
  std::string message;
  bool is_taken = false;  ///< another process has the address: worth a retry
};

/// Listens on HOST:PORT; a name may have several addresses.
std::variant<std::vector<Listener>, ListenProblem> listen_on(const std::string& host_and_port);
/// Listens at a path, for its user and group. Removes the socket of a dead daemon.
std::variant<std::vector<Listener>, ListenProblem> listen_at(const std::string& path);

/// Wakes a thread that waits in poll().
class Wake final {
 public:
  Wake();
  void notify() const;
  void clear() const;
  int descriptor() const { return socket_.get(); }

 private:
  Socket socket_;
};

}  // namespace inboxd::admin
