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
  // The session ends before the heartbeat that waits gives up its connection.
  fixture.config.kafka["session.timeout.ms"] = "3000";
  fixture.config.kafka["heartbeat.interval.ms"] = "1500";
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());

  proxy.hold_open_connections();
  const auto held = monotonic_ms();
  fixture.produce(100);
  int assigned = daemon->count_in_log("kind=consumer.partitions_assigned");
  wait_until(
      "the client is replaced",
      [&] {
        // On a busy machine the client may open a connection just then, and come back by itself: once more.
        const int now = daemon->count_in_log("kind=consumer.partitions_assigned");
        if (daemon->count_in_log("kind=consumer.remade") > 0) return true;
        if (now > assigned) proxy.hold_open_connections();
        assigned = now;
        return false;
      },
      milliseconds{120'000});
  const auto counts = fixture.wait_done();
  WARN("all read " << monotonic_ms() - held << " ms after the connections were dropped");
  CHECK(counts.is_perfect());
  CHECK(daemon->count_in_log("kind=consumer.remade") == 1);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
