#include "kafka/credentials.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "kafka/producer.hpp"
#include "support/test_environment.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace std::chrono_literals;

namespace {

/// The first steps of a broker with SASL/PLAIN: it notes the passwords, and refuses all of them.
class SaslBroker final {
 public:
  SaslBroker() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error{"no port"};
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { run(); }};
  }
  ~SaslBroker() {
    stops_ = true;
    thread_.join();
    close(listener_);
  }
  SaslBroker(const SaslBroker&) = delete;
  SaslBroker& operator=(const SaslBroker&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  bool has_seen(const std::string& password) {
    const std::lock_guard lock{mutex_};
    return passwords_.contains(password);
  }

 private:
  static constexpr std::int16_t sasl_handshake = 17, api_versions = 18, sasl_authenticate = 36;

  static std::string number(std::int64_t value, int bytes) {
    std::string out;
    for (int shift = bytes - 1; shift >= 0; --shift) out += static_cast<char>(value >> (8 * shift));
    return out;
  }
  static std::int32_t read_number(std::string_view bytes) {
    std::uint32_t out = 0;
    for (const char c : bytes) out = out << 8U | static_cast<unsigned char>(c);
    return static_cast<std::int32_t>(out);
  }

  void run() {
    while (!stops_) {
      pollfd waits{listener_, POLLIN, 0};
      if (poll(&waits, 1, 20) != 1) continue;
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      const timeval limit{0, 200'000};
      setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      while (answer(client)) {
      }
      close(client);
    }
  }

  static bool receive(int client, std::string& out, std::size_t size) {
    out.resize(size);
    return recv(client, out.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }

  bool answer(int client) {
    std::string size, request;
    if (!receive(client, size, 4) || !receive(client, request, static_cast<std::size_t>(read_number(size)))) {
      return false;
    }
    const auto api = static_cast<std::int16_t>(read_number(std::string_view{request}.substr(0, 2)));
    const auto version = read_number(std::string_view{request}.substr(2, 2));
    std::string body;
    if (api == api_versions) {
      body = number(version > 0 ? 35 : 0, 2) + number(3, 4);  // an older broker answers in version 0
      for (const std::int16_t each : {sasl_handshake, api_versions, sasl_authenticate}) {
        body += number(each, 2) + number(0, 2) + number(each == sasl_handshake ? 1 : 0, 2);
      }
    } else if (api == sasl_handshake) {
      body = number(0, 2) + number(1, 4) + number(5, 2) + "PLAIN";
    } else if (api == sasl_authenticate) {
      const std::lock_guard lock{mutex_};
      passwords_.insert(request.substr(request.rfind('\0') + 1));
      body = number(58, 2) + number(-1, 2) + number(0, 4);
    } else {
      return false;
    }
    const std::string whole = number(static_cast<std::int64_t>(body.size()) + 4, 4) + request.substr(4, 4) + body;
    return send(client, whole.data(), whole.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(whole.size());
  }

  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::atomic<bool> stops_{false};
  std::mutex mutex_;
  std::set<std::string> passwords_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a client whose password was refused connects with the password that is in force now") {
  SaslBroker broker;
  std::string password = "first";
  kafka::ProducerSettings settings;
  settings.brokers = broker.address();
  const auto now = [&] {
    return kafka::Credentials::Properties{{"security.protocol", "sasl_plaintext"}, {"sasl.mechanisms", "PLAIN"},
                                          {"sasl.username", "app"},                {"sasl.password", password},
                                          {"reconnect.backoff.ms", "20"},          {"reconnect.backoff.max.ms", "100"}};
  };
  settings.properties = now();
  settings.properties_now = now;
  auto producer = kafka::Producer::make(std::move(settings));
  REQUIRE(producer);
  const auto sees = [&](const std::string& wanted) {
    producer.value()->take(20ms);
    return broker.has_seen(wanted);
  };
  support::wait_until("the first password is tried", [&] { return sees("first"); });
  password = "second";
  support::wait_until("the second one is tried", [&] { return sees("second"); });
  CHECK_FALSE(producer.value()->failure());
}

TEST_CASE("a folder of authorities is no file to compare") {
  const support::TempFolder folder;
  const kafka::Credentials::Properties properties{{"ssl.ca.location", folder.path().string()}};
  kafka::Credentials credentials{[&] { return properties; }};
  credentials.note_failure();
  CHECK_FALSE(credentials.renew({}));
}

TEST_CASE("a producer must be replaced once a connection fails after another property or its file has changed") {
  const support::TempFolder folder;
  const std::string authorities = (folder / "ca.pem").string();
  support::write_file(authorities, "");
  std::string secret = "first";
  kafka::ProducerSettings settings;
  settings.brokers = "127.0.0.1:1";
  settings.properties_now = [&] {
    return kafka::Credentials::Properties{{"reconnect.backoff.ms", "20"}, {"reconnect.backoff.max.ms", "100"},
                                          {"client.id", secret},          {"ssl.ca.location", authorities}};
  };
  settings.properties = settings.properties_now();
  auto producer = kafka::Producer::make(std::move(settings));
  REQUIRE(producer);
  const auto fails = [&] {
    producer.value()->take(20ms);
    return producer.value()->failure().has_value();
  };
  SECTION("a file") { support::write_file(authorities, "other"); }
  SECTION("a property") { secret = "second"; }
  support::wait_until("it must be replaced", fails);
}
