#include "support/fake_registry.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

constexpr const char* unknown = R"({"error_code":40403,"message":"Schema not found"})";

std::string path_of(const std::string& head) {
  const auto begin = head.find(' ') + 1;
  return head.substr(begin, head.find(' ', begin) - begin);
}

}  // namespace

FakeRegistry::FakeRegistry() : port_{free_port()} { start(); }

FakeRegistry::~FakeRegistry() {
  stop();
  for (const int connection : left_open_) ::close(connection);
}

void FakeRegistry::listen() {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  const bool listens = ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                       ::listen(socket_, 64) == 0;
  if (!listens) throw std::runtime_error{"a registry cannot listen"};
}

void FakeRegistry::start() {
  listen();
  stopping_ = false;
  thread_ = std::thread{[this] { run(); }};
}

void FakeRegistry::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  thread_.join();
  ::close(socket_);
}

void FakeRegistry::add_schema(int id, const std::string& schema, const std::string& subject,
                              const std::string& references) {
  const nlohmann::json body{{"schema", schema}, {"references", nlohmann::json::parse(references)}};
  const std::string path = "/schemas/ids/" + std::to_string(id);
  set(path, 200, body.dump());
  set(path + "/versions", 200, nlohmann::json::array({{{"subject", subject}, {"version", 1}}}).dump());
}

void FakeRegistry::set(const std::string& path, int status, const std::string& body) {
  const std::lock_guard lock{mutex_};
  answers_[path] = {status, body};
}

int FakeRegistry::requests(const std::string& path) const {
  const std::lock_guard lock{mutex_};
  return static_cast<int>(
      std::count_if(heads_.begin(), heads_.end(), [&](const auto& head) { return path_of(head) == path; }));
}

int FakeRegistry::requests() const {
  const std::lock_guard lock{mutex_};
  return static_cast<int>(heads_.size());
}

std::string FakeRegistry::last_head() const {
  const std::lock_guard lock{mutex_};
  return heads_.empty() ? "" : heads_.back();
}

void FakeRegistry::run() {
  while (!stopping_) {
    pollfd polled{socket_, POLLIN, 0};
    if (::poll(&polled, 1, 20) <= 0) continue;
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) serve(connection);
  }
}

void FakeRegistry::serve(int connection) {
  std::string bytes;
  std::array<char, 4096> buffer;
  while (bytes.find("\r\n\r\n") == std::string::npos) {
    pollfd polled{connection, POLLIN, 0};
    const auto count = ::poll(&polled, 1, 1'000) > 0 ? ::recv(connection, buffer.data(), buffer.size(), 0) : 0;
    if (count <= 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const bool lists_subjects = path_of(bytes).starts_with("/subjects?");
  Answer answer = lists_subjects ? Answer{200, "[]"} : Answer{404, unknown};
  {
    const std::lock_guard lock{mutex_};
    heads_.push_back(bytes);
    if (const auto found = answers_.find(path_of(bytes)); found != answers_.end()) answer = found->second;
  }
  if (status_of_all_ < 0) {
    left_open_.push_back(connection);
    return;
  }
  if (status_of_all_ != 0) answer = {status_of_all_, R"({"error_code":50001,"message":"trouble"})"};
  const std::string out = "HTTP/1.1 " + std::to_string(answer.status) +
                          " -\r\nContent-Length: " + std::to_string(answer.body.size()) +
                          "\r\nConnection: close\r\n\r\n" + answer.body;
  static_cast<void>(::send(connection, out.data(), out.size(), MSG_NOSIGNAL));
  ::close(connection);
}

}  // namespace inboxd::support
