#include "inbox/connecting.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <string>

#include "inbox/answer.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "support/no_threads.hpp"

using namespace inboxd;
using namespace std::chrono_literals;

namespace {

/// Accepts connections and never answers.
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
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~SilentHost() { close(socket_); }
  SilentHost(const SilentHost&) = delete;
  SilentHost& operator=(const SilentHost&) = delete;
  const std::string& port() const { return port_; }

 private:
  int socket_;
  std::string port_;
};

}  // namespace

TEST_CASE("connecting divides its time among the hosts and stays below the heartbeat limit") {
  const auto times = [](std::chrono::milliseconds deadline, long hosts) {
    return inbox::connecting_times(deadline, 45s, hosts);
  };
  CHECK(times(300ms, 1).each == 2s);  // a handshake may take longer than a statement
  CHECK(times(300ms, 1).all >= 2s);
  CHECK(times(2s, 3).all > 3 * times(2s, 3).each);
  CHECK(times(30s, 3).each == 10s);
  for (const auto deadline : {100ms, 30'000ms, 3'600'000ms}) {
    for (const long hosts : {1L, 2L, 5L, 100L}) CHECK(times(deadline, hosts).all < deadline + 60s);
  }
  CHECK(inbox::connecting_times(1s, 3s, 5).all == 4s);
}

TEST_CASE("connecting to a silent host ends at the deadline, despite connect_timeout in the URL") {
  const SilentHost host;
  config::Database settings;
  settings.url = "postgresql://127.0.0.1:" + host.port() + "/app?connect_timeout=30";
  settings.deadline = 1s;
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::Connection connection{settings, "test", watchdog, log};
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS(connection.open());
  CHECK(std::chrono::steady_clock::now() - began < 25s);
}

TEST_CASE("without a thread to connect, opening fails with fault reconnect") {
  const SilentHost host;
  config::Database settings;
  settings.url = "postgresql://127.0.0.1:" + host.port() + "/app";
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::Connection connection{settings, "test", watchdog, log};
  inbox::DatabaseFailure failure;
  {
    const support::NoThreads none;
    failure = inbox::database_failure_of([&] { connection.open(); }).value_or(failure);
  }
  CHECK(failure.fault == inbox::Fault::reconnect);
  CHECK_THAT(failure.message, Catch::Matchers::StartsWith("cannot start a thread to connect: "));
}
