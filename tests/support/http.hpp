#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/wait.hpp"

namespace inboxd::support {

struct HttpAnswer {
  int status = 0;                              ///< 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
};

/// A connection to a port of 127.0.0.1 or to a Unix socket, for requests that normal clients do not send.
class RawConnection final {
 public:
  /// `from`: the local address of the connection.
  explicit RawConnection(int port, const std::string& from = "127.0.0.1");
  explicit RawConnection(const std::string& unix_socket);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  /// False if the peer has closed.
  bool send(std::string_view bytes);
  HttpAnswer receive(milliseconds within = patience, bool has_body = true);
  bool ends(milliseconds within = patience);

 private:
  bool read_more(std::int64_t until);

  int socket_;
  std::string buffer_;
};

struct HttpQuestion {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::string> headers = {};  ///< `Name: value`; Host is added if missing
  std::string body = {};
};

HttpAnswer ask(int port, const HttpQuestion& question, milliseconds within = patience);
HttpAnswer get(int port, const std::string& target, const std::vector<std::string>& headers = {});
HttpAnswer post(int port, const std::string& target, const std::string& body,
                const std::vector<std::string>& headers = {});

/// The value of `name{label="value"}` in `/metrics`; -1: none.
double gauge(int port, const std::string& name_and_labels);

}  // namespace inboxd::support
