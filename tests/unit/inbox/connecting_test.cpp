#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <string>

#include "inbox/connecting_times.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "support/no_threads.hpp"

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

TEST_CASE("connecting has time for each host, and less in all than a loop may stand still") {
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

TEST_CASE("a host that is silent is given up in time, whatever the URL says") {
  const SilentHost host;
  config::Database settings;
  settings.url = "postgresql://127.0.0.1:" + host.port() + "/app?connect_timeout=30";
  settings.deadline = 1s;
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::Connection connection{settings, "test", watchdog, log};
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS(connection.open());
  CHECK(std::chrono::steady_clock::now() - began < 10s);
}

TEST_CASE("where no thread is to be had connecting has failed, to be tried again, and the process goes on") {
  const SilentHost host;
  config::Database settings;
  settings.url = "postgresql://127.0.0.1:" + host.port() + "/app";
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::Connection connection{settings, "test", watchdog, log};
  inbox::DatabaseFailure failure;
  {
    const support::NoThreads none;
    try {
      connection.open();
    } catch (...) {
      failure = inbox::describe(std::current_exception());
    }
  }
  CHECK(failure.fault == inbox::Fault::reconnect);
  CHECK_THAT(failure.message, Catch::Matchers::StartsWith("no thread to connect with: "));
}
