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

/// A way in: a port of an address, or a Unix socket, which is removed at the end.
class Listener final {
 public:
  Listener(Socket socket, std::string where, std::string file);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  ~Listener();

  int descriptor() const { return socket_.get(); }
  const std::string& where() const { return where_; }
  bool is_unix() const { return !file_.empty(); }
  /// The next connection and who it is; no socket where there is none (errno says why).
  std::pair<Socket, Peer> accept() const;

 private:
  Socket socket_;
  std::string where_;
  std::string file_;
};

/// Why a way in could not be opened.
struct ListenProblem {
  std::string message;
  bool is_taken = false;  ///< somebody else has it: worth another try
};

/// HOST:PORT; a name may stand for several addresses.
std::variant<std::vector<Listener>, ListenProblem> listen_on(const std::string& host_and_port);
/// A path. What a daemon that is gone has left there is removed; readable and writable for its user and group.
std::variant<std::vector<Listener>, ListenProblem> listen_at(const std::string& path);

/// Wakes a thread that waits in poll().
class Wake final {
 public:
  Wake();
  void ring() const;
  void clear() const;
  int descriptor() const { return socket_.get(); }

 private:
  Socket socket_;
};

}  // namespace inboxd::admin
