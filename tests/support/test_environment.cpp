#include "support/test_environment.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace inboxd::support {
namespace {

std::mt19937_64& random_source() {
  thread_local std::mt19937_64 source{std::random_device{}()};  // names must differ between runs with the same seed
  return source;
}

bool can_listen(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (fd >= 0) close(fd);
  return free;
}

// A server listens seconds after its port was chosen, and a stopped one comes back to its port: no other test gets it
// until this process ends. The name is a socket's without a file, so that a killed process leaves nothing behind.
bool reserve(int port) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "inboxd-test-port-%d", port);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  const bool is_mine = fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&name), size) == 0;
  if (fd >= 0 && !is_mine) close(fd);
  return is_mine;
}

}  // namespace

std::string needed(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value == '\0') {
    throw std::runtime_error{std::string{variable} +
                             " is not set: run the tests with tests/run, or start servers with "
                             "config/setup/servers and export what its env file says"};
  }
  return value;
}

bool is_long() {
  const char* const value = std::getenv("INBOXD_TEST_LONG");
  return value != nullptr && *value != '\0' && std::string_view{value} != "0";
}

std::string random_name(std::string_view prefix) {
  std::array<char, 11> digits{};
  std::snprintf(digits.data(), digits.size(), "%010llx",
                static_cast<unsigned long long>(random_source()() & 0xff'ffff'ffffULL));
  return std::string{prefix} + "_" + digits.data();
}

int free_port() {
  std::uniform_int_distribution<int> ports{15'000, 23'999};
  for (int attempt = 0; attempt < 200; ++attempt) {
    const int port = ports(random_source());
    if (reserve(port) && can_listen(port)) return port;
  }
  throw std::runtime_error{"no free port between 15000 and 23999"};
}

TempFolder::TempFolder(const std::filesystem::path& parent) {
  std::string path = (parent / "inboxd-test-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::system_error{errno, std::generic_category(), path};
  path_ = path;
  std::filesystem::permissions(path_, std::filesystem::perms{0711});
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::ostringstream out;
  out << in.rdbuf();  // takes a refused read for an end, where an iterator throws
  return out.str();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream out{path, std::ios::binary | std::ios::trunc};
  out << text << std::flush;
  if (!out) throw std::runtime_error{"cannot write " + path.string()};
}

}  // namespace inboxd::support
