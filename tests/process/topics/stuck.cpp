// A client that waits for ever on connections that a firewall dropped, while the brokers answer everybody else.
#include <catch2/catch_test_macros.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a client that waits for ever outside its group is replaced, and its partitions are read again") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  DaemonFixture fixture{3};
  fixture.config.brokers = "127.0.0.1:" + needed("INBOXD_TEST_KAFKA_PROXY_PORT");
  fixture.config.kafka["socket.timeout.ms"] = "300000";  // so the library opens no other connection
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());

  proxy.hold_open_connections();
  const auto held = monotonic_ms();
  fixture.produce(100);
  daemon->wait_log("kind=consumer.remade", 1, milliseconds{90'000});
  const auto counts = fixture.wait_done();
  WARN("all read " << monotonic_ms() - held << " ms after the connections were dropped");
  CHECK(counts.is_perfect());
  CHECK(daemon->count_in_log("kind=consumer.remade") == 1);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
