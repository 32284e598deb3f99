#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>

#include "inbox/connection.hpp"

using namespace inboxd;
using namespace std::chrono_literals;

namespace {

/// Takes connections and never says a word.
class SilentHost final {
 public:
  SilentHost() : socket_{::socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(socket_, 64) == 0);
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    place_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~SilentHost() { close(socket_); }
  SilentHost(const SilentHost&) = delete;
  SilentHost& operator=(const SilentHost&) = delete;
  const std::string& place() const { return place_; }

 private:
  int socket_;
  std::string place_;
};

}  // namespace

TEST_CASE("a database of many hosts that are all silent is given up in time, not after the sum of them") {
  const SilentHost host;
  std::string hosts = host.place();
  for (int i = 0; i < 5; ++i) hosts += "," + host.place();
  config::Database settings;
  settings.url = "postgresql://" + hosts + "/app";
  settings.deadline = 1s;
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::Connection connection{settings, "test", watchdog, log};
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS(connection.open());
  CHECK(std::chrono::steady_clock::now() - began < 6s);  // libpq gives each two seconds at least
}
