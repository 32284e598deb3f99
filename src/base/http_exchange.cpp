#include "base/http_exchange.hpp"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "base/text.hpp"
#include "base/this_machine.hpp"

namespace inboxd::base {
namespace {

struct Free {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

/// For the callbacks.
struct Transfer {
  const HttpQuestion& question;
  HttpReply& reply;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* to) {
  auto& [question, reply] = *static_cast<Transfer*>(to);
  if (reply.body.size() + size * count > question.max_answer) {
    reply.is_too_large = true;
    return 0;  // ends the transfer
  }
  reply.body.append(data, size * count);
  return size * count;
}

/// Not zero ends the transfer.
int is_cancelled(void* by, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(by)->load() ? 1 : 0;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* to) {
  std::string_view line{data, size * count};
  auto& headers = static_cast<Transfer*>(to)->reply.headers;
  if (line.starts_with("HTTP/")) headers.clear();  // of an interim answer
  while (line.ends_with('\r') || line.ends_with('\n') || line.ends_with(' ')) line.remove_suffix(1);
  if (const auto colon = line.find(':'); colon != line.npos) {
    const auto value = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
    headers.emplace_back(lower(line.substr(0, colon)), line.substr(value));
  }
  return size * count;
}

curl_socket_t open_socket(void* to, curlsocktype, curl_sockaddr* address) {
  auto& [question, reply] = *static_cast<Transfer*>(to);
  if (question.only_this_machine && address->family != AF_UNIX && !is_of_this_machine(address->addr)) {
    reply.is_elsewhere = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  if (code != CURLE_OK) throw std::runtime_error{std::string{"curl: "} + curl_easy_strerror(code)};
}

void set_text(CURL* handle, CURLoption option, const std::string& value) {
  if (!value.empty()) set(handle, option, value.c_str());
}

void set_connection(CURL* handle, Transfer& transfer) {
  const HttpQuestion& question = transfer.question;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(question.end - std::chrono::steady_clock::now());
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_QUICK_EXIT, 1L);  // does not wait for a name that is still being resolved
  set(handle, CURLOPT_TIMEOUT_MS, std::max<long>(static_cast<long>(left.count()), 1));
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_PROXY, "");  // none from the environment
  set(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  set(handle, CURLOPT_OPENSOCKETDATA, &transfer);
  set(handle, CURLOPT_CONNECT_ONLY, question.connects_only ? 1L : 0L);
  set_text(handle, CURLOPT_UNIX_SOCKET_PATH, question.unix_socket);
  set_text(handle, CURLOPT_SSLCERT, question.certificate);
  set_text(handle, CURLOPT_SSLKEY, question.key);
  set_text(handle, CURLOPT_CAINFO, question.authorities);
  if (question.cancelled != nullptr) {
    set(handle, CURLOPT_NOPROGRESS, 0L);
    set(handle, CURLOPT_XFERINFOFUNCTION, is_cancelled);
    set(handle, CURLOPT_XFERINFODATA, question.cancelled);
  }
  if (question.public_key.empty()) return;
  // The key alone identifies the server: it may have any name, and no authority need be known.
  set_text(handle, CURLOPT_PINNEDPUBLICKEY, question.public_key);
  set(handle, CURLOPT_SSL_VERIFYPEER, 0L);
  set(handle, CURLOPT_SSL_VERIFYHOST, 0L);
}

void set_request(CURL* handle, curl_slist* headers, Transfer& transfer) {
  const HttpQuestion& question = transfer.question;
  set(handle, CURLOPT_URL, question.url.c_str());
  set(handle, CURLOPT_PATH_AS_IS, 1L);
  set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(handle, CURLOPT_HTTPHEADER, headers);
  set(handle, CURLOPT_WRITEFUNCTION, take_body);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  set(handle, CURLOPT_HEADERFUNCTION, take_header);
  set(handle, CURLOPT_HEADERDATA, &transfer);
  if (!question.body) return;
  set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(question.body->size()));
  set(handle, CURLOPT_POSTFIELDS, question.body->data());
}

std::unique_ptr<curl_slist, Free> list_of(std::vector<std::string> headers) {
  headers.insert(headers.end(), {"Connection: close", "Expect:"});  // no round trip before a body
  std::unique_ptr<curl_slist, Free> out;
  for (const std::string& header : headers) {
    curl_slist* const longer = curl_slist_append(out.get(), header.c_str());
    if (longer == nullptr) throw std::bad_alloc{};
    static_cast<void>(out.release());
    out.reset(longer);
  }
  return out;
}

std::string problem_of(CURL* handle, CURLcode code, const char* text) {
  long error = 0;
  if (code == CURLE_COULDNT_CONNECT) curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error);
  if (error != 0) return std::generic_category().message(static_cast<int>(error));
  return *text == '\0' ? curl_easy_strerror(code) : text;
}

}  // namespace

HttpReply exchange(const HttpQuestion& question) {
  HttpReply reply;
  Transfer transfer{question, reply};
  const std::unique_ptr<CURL, Free> handle{curl_easy_init()};
  if (!handle) throw std::bad_alloc{};
  const auto headers = list_of(question.headers);
  std::array<char, CURL_ERROR_SIZE> error{};
  set(handle.get(), CURLOPT_ERRORBUFFER, error.data());
  set_connection(handle.get(), transfer);
  set_request(handle.get(), headers.get(), transfer);
  const CURLcode code = curl_easy_perform(handle.get());
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  reply.status = static_cast<int>(status);
  reply.is_timeout = code == CURLE_OPERATION_TIMEDOUT;
  if (code != CURLE_OK) reply.problem = problem_of(handle.get(), code, error.data());
  return reply;
}

}  // namespace inboxd::base
