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

/// A TCP connection to a port of 127.0.0.1, for requests that no decent client sends.
class RawConnection final {
 public:
  explicit RawConnection(int port);
  explicit RawConnection(const std::string& unix_socket);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  /// False where the other side has gone.
  bool send(std::string_view bytes);
  /// The next answer; waits for it.
  HttpAnswer receive(milliseconds within = patience, bool has_body = true);
  /// Whether the other side ends the connection in that time.
  bool ends(milliseconds within = patience);

 private:
  bool read_more(std::int64_t until);

  int socket_;
  std::string buffer_;
};

struct HttpQuestion {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::string> headers = {};  ///< `Name: value`; Host is added where none is given
  std::string body = {};
};

HttpAnswer ask(int port, const HttpQuestion& question, milliseconds within = patience);
HttpAnswer get(int port, const std::string& target, const std::vector<std::string>& headers = {});
HttpAnswer post(int port, const std::string& target, const std::string& body,
                const std::vector<std::string>& headers = {});

/// What `/metrics` says of `name{label="value"}`; -1: nothing.
double gauge(int port, const std::string& name_and_labels);

}  // namespace inboxd::support
