#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inboxd::base {

/// A request over HTTP/1.1, on a connection of its own.
struct HttpQuestion {
  std::string url;
  std::chrono::steady_clock::time_point end;  ///< of every wait, name resolution included
  std::vector<std::string> headers = {};      ///< `Name: value`
  std::optional<std::string> body = {};       ///< of a POST; nullopt: GET
  std::string unix_socket = {};               ///< connects to this path in place of the URL's host
  std::size_t max_answer = 64 << 20;          ///< bytes
  bool only_this_machine = false;             ///< connects to no address of another machine
  bool connects_only = false;                 ///< sends nothing
  std::string public_key = {};                ///< https with the holder of this key only: `sha256//BASE64`
  std::string certificate = {}, key = {};     ///< PEM files of the client; empty: none
  std::string authorities = {};               ///< a PEM file; empty: the system's
  const std::atomic<bool>* cancelled = nullptr;  ///< once true, the exchange ends within a second
};

struct HttpReply {
  int status = 0;  ///< 0: no answer
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< names in lower case
  std::string body = {};
  std::string problem = {};     ///< empty: the answer is whole
  bool is_elsewhere = false;    ///< an address of another machine was refused
  bool is_too_large = false;    ///< it has more than max_answer bytes
  bool is_timeout = false;      ///< `end` has come
};

/// Blocks until `end` at most. Follows no redirection and uses no proxy. Any thread.
HttpReply exchange(const HttpQuestion& question);

}  // namespace inboxd::base
