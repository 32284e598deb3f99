#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inboxd::admin {

/// The client of a connection.
struct Peer {
  bool is_local = false;  ///< this machine: a loopback address or a Unix socket
  std::string name;       ///< `127.0.0.1`, or the user of a Unix socket: `alice`
};

struct HttpRequest {
  std::string method;
  std::string path;                                          ///< without the query
  std::string query;                                         ///< the part after `?`, still encoded
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case
  std::string body;
  bool keep_alive = true;
  Peer peer;

  /// The first header of that (lower-case) name.
  const std::string* header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool is_page = false;  ///< a file of the page, which may load the page's other files and ask this port
  // Not sent, for HttpServer::Answered.
  std::string outcome = {};   ///< if the status does not tell it
  std::string event_id = {};  ///< that the refusal is about
};

/// `Not Found`.
std::string_view reason_of(int status);

/// An error as a JSON document: {"status": 404, "message": "…"}.
HttpResponse refusal(int status, const std::string& message);

/// The response's bytes. `without_body`: for a HEAD request. `close`: the connection ends after it.
std::string bytes_of(const HttpResponse& response, bool without_body, bool close);

/// Reads a request at a time from a stream of bytes, within limits. Refuses everything ambiguous in HTTP/1.1, so that
/// no proxy can read it differently.
class RequestReader final {
 public:
  struct Limits {
    std::size_t header_bytes = 16 << 10;
    std::size_t body_bytes = 1 << 20;
    std::size_t headers = 100;
    std::string_view keys = "admin";  ///< the group of settings that refusals name
  };
  explicit RequestReader(Limits limits) : limits_{limits} {}

  enum class State {
    wants_more,
    wants_continue,  ///< as wants_more, and the client waits for `100 Continue`
    complete,
    refused,  ///< see problem(); the rest of the connection is unreadable
  };
  State take(std::string_view bytes);
  State state() const { return state_; }
  /// Whether a part of a request has arrived.
  bool has_begun() const { return !buffer_.empty(); }

  /// The request as far as it has been read, and the size that it gives its body.
  const HttpRequest& request() const { return request_; }
  std::size_t body_bytes() const { return body_size_; }
  /// The complete request; the reader continues with the bytes after it.
  HttpRequest next();
  const HttpResponse& problem() const { return problem_; }

 private:
  State read();
  State read_head(std::string_view head);
  State refuse(int status, const std::string& message);
  bool read_request_line(std::string_view line);
  bool read_header(std::string_view line);
  State check_headers();

  const Limits limits_;
  std::string buffer_;
  std::size_t head_size_ = 0;  ///< 0: not complete yet
  std::size_t body_size_ = 0;
  bool is_old_ = false;  ///< HTTP/1.0
  HttpRequest request_;
  HttpResponse problem_;
  State state_ = State::wants_more;
};

/// `a=1&a=2` as decoded pairs; nullopt: the encoding is wrong.
std::optional<std::vector<std::pair<std::string, std::string>>> query_of(std::string_view encoded);

}  // namespace inboxd::admin
