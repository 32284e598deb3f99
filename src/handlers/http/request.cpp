#include "request.hpp"

#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

namespace http_handler {
namespace {

/// 169.254.0.0/16 and fe80::/10, where clouds keep the credentials of a machine; fd00:ec2::/32, where AWS does, too.
bool is_link_local(const sockaddr& address) {
  const auto is_v4 = [](const unsigned char* bytes) { return bytes[0] == 169 && bytes[1] == 254; };
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return is_v4(reinterpret_cast<const unsigned char*>(&v4.sin_addr));
  }
  if (address.sa_family != AF_INET6) return false;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  const unsigned char* const bytes = v6.sin6_addr.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return is_v4(bytes + 12);
  constexpr unsigned char one_cloud[] = {0xfd, 0x00, 0x0e, 0xc2};
  return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) != 0 || std::memcmp(bytes, one_cloud, sizeof one_cloud) == 0;
}

/// The value, shortened, if the line is this header.
std::optional<std::string> header_in(std::string_view line, std::string_view name) {
  constexpr std::size_t longest = 100;
  if (line.size() <= name.size() || strncasecmp(line.data(), name.data(), name.size()) != 0) return std::nullopt;
  std::string value{line.substr(name.size(), longest)};
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(value.find_last_not_of(" \t\r\n") + 1);
  return value;
}

void must(CURLcode code) {
  if (code != CURLE_OK) throw std::runtime_error{std::string{"curl: "} + curl_easy_strerror(code)};
}

}  // namespace

Request::Request(const Target& target) : target_{target}, handle_{curl_easy_init()} {
  CURL* const handle = handle_.get();
  if (handle == nullptr) throw std::bad_alloc{};
  must(curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L));
  must(curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https"));
  must(curl_easy_setopt(handle, CURLOPT_PROXY, ""));  // none from the environment: it would resolve the name
  must(curl_easy_setopt(handle, CURLOPT_USERAGENT, "inboxd/" INBOXD_VERSION));
  // Asks for compressed answers, and decodes them before their limit counts. An unknown coding fails the transfer.
  must(curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, ""));
  must(curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L));
  must(curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L));
  must(curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(target.connect_timeout.count())));
  must(curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, error_.data()));
  must(curl_easy_setopt(handle, CURLOPT_PRIVATE, this));
  must(curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body));
  must(curl_easy_setopt(handle, CURLOPT_WRITEDATA, this));
  must(curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header));
  must(curl_easy_setopt(handle, CURLOPT_HEADERDATA, this));
  must(curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket));
  must(curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, this));
  if (!target.unix_socket.empty()) {
    must(curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, target.unix_socket.c_str()));
  }
  // HTTP/2 where TLS negotiates it. Without TLS, libcurl 7.88 (Debian 12) fails on the second request of a connection.
  const bool is_https = target.url.is_https();
  must(curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, is_https ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  if (is_https) set_tls();
}

void Request::set_tls() {
  CURL* const handle = handle_.get();
  must(curl_easy_setopt(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2));
  if (!target_.ca.empty()) must(curl_easy_setopt(handle, CURLOPT_CAINFO, target_.ca.c_str()));
  if (target_.certificate.empty()) return;
  must(curl_easy_setopt(handle, CURLOPT_SSLCERT, target_.certificate.c_str()));
  must(curl_easy_setopt(handle, CURLOPT_SSLKEY, target_.private_key.c_str()));
}

void Request::begin(const std::string& url, std::chrono::milliseconds timeout) {
  answer_ = {};
  error_[0] = '\0';
  must(curl_easy_setopt(handle(), CURLOPT_URL, url.c_str()));
  must(curl_easy_setopt(handle(), CURLOPT_TIMEOUT_MS, std::max<long>(static_cast<long>(timeout.count()), 1)));
}

void Request::set(const std::string& url, Message message, std::chrono::milliseconds timeout) {
  begin(url, timeout);
  message_ = std::move(message);
  message_.headers.emplace_back("Expect:");  // no round trip before the body
  set_headers(message_.headers);
  must(curl_easy_setopt(handle(), CURLOPT_POST, 1L));
  must(curl_easy_setopt(handle(), CURLOPT_POSTFIELDS, message_.body.data()));
  must(curl_easy_setopt(handle(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(message_.body.size())));
}

void Request::set_headers(const std::vector<std::string>& headers) {
  headers_.reset();
  for (const std::string& header : headers) {
    curl_slist* const longer = curl_slist_append(headers_.get(), header.c_str());
    if (longer == nullptr) throw std::bad_alloc{};
    (void)headers_.release();
    headers_.reset(longer);
  }
  must(curl_easy_setopt(handle(), CURLOPT_HTTPHEADER, headers_.get()));
}

void Request::set_get(const std::string& url, std::chrono::milliseconds timeout) {
  begin(url, timeout);
  must(curl_easy_setopt(handle(), CURLOPT_HTTPGET, 1L));
  set_headers(target_.headers);
}

Answer Request::take_answer(CURLcode code) {
  answer_.code = code;
  if (!answer_.is_whole && code == CURLE_WRITE_ERROR) answer_.code = CURLE_OK;
  answer_.error = error_[0] == '\0' ? curl_easy_strerror(code) : error_.data();
  curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &answer_.status);
  curl_off_t connected = 0;
  curl_easy_getinfo(handle(), CURLINFO_PRETRANSFER_TIME_T, &connected);
  answer_.has_connected = connected > 0;
  return std::exchange(answer_, {});
}

std::size_t Request::take_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& request = *static_cast<Request*>(self);
  const std::size_t bytes = size * count;
  std::string& body = request.answer_.body;
  const std::size_t taken = std::min(bytes, request.target_.max_answer - body.size());
  body.append(data, taken);
  if (taken < bytes) request.answer_.is_whole = false;
  return taken;  // less than all ends the transfer
}

std::size_t Request::take_header(char* data, std::size_t size, std::size_t count, void* self) {
  const std::string_view line{data, size * count};
  Answer& answer = static_cast<Request*>(self)->answer_;
  if (auto value = header_in(line, "retry-after:")) answer.retry_after = *std::move(value);
  if (auto value = header_in(line, "content-type:")) answer.content_type = *std::move(value);
  return line.size();
}

curl_socket_t Request::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& request = *static_cast<Request*>(self);
  if (!request.target_.may_be_link_local && is_link_local(address->addr)) {
    request.answer_.is_refused = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace http_handler
