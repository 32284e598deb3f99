#pragma once
#include <curl/curl.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "answer.hpp"
#include "message.hpp"
#include "target.hpp"

namespace http_handler {

/// A request of curl's, reused for many exchanges. Not thread-safe.
class Request final {
 public:
  explicit Request(const Target& target);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Ready for a POST. `timeout`: until the whole answer is there.
  void set(const std::string& url, Message message, std::chrono::milliseconds timeout);
  /// Ready for a GET.
  void set_get(const std::string& url, std::chrono::milliseconds timeout);

  CURL* handle() { return handle_.get(); }
  /// After the transfer.
  Answer take_answer(CURLcode code);

 private:
  struct Free {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  void begin(const std::string& url, std::chrono::milliseconds timeout);
  void set_tls();
  void set_headers(const std::vector<std::string>& headers);
  static std::size_t take_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t take_header(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);

  const Target& target_;
  std::unique_ptr<CURL, Free> handle_;
  std::unique_ptr<curl_slist, Free> headers_;
  Message message_;
  Answer answer_;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace http_handler
