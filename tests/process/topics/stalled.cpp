#include <catch2/catch_test_macros.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a stalled partition is sought again, and nothing is lost or doubled") {
  MockBrokers brokers;
  DaemonFixture fixture{1};
  brokers.serve(fixture.config);
  brokers.create_topic(fixture.topic, 1);
  Kafka kafka{brokers.addresses()};
  fixture.produce_through(kafka, 50);
  brokers.delay_fetch(std::chrono::seconds{14});
  const auto daemon = fixture.start();
  daemon->wait_log("kind=consumer.stalled");
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 50);
  CHECK(daemon->count_in_log("kind=consumer.stalled") == 1);
}
