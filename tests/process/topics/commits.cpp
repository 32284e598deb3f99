#include <catch2/catch_test_macros.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;

// fault: offset commit fails (illegal generation, rebalance in progress, timeouts)
TEST_CASE("a refused offset commit is repeated later, without other effects") {
  MockBrokers brokers;
  DaemonFixture fixture{1};
  brokers.serve(fixture.config);
  brokers.create_topic(fixture.topic, 1);
  const auto daemon = fixture.start();
  brokers.refuse_commits();
  Kafka kafka{brokers.addresses()};
  fixture.produce_through(kafka, 50);
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 50);
  daemon->wait_log("kind=consumer.commit_failed");
  wait_until("it is committed", [&] { return brokers.committed(fixture.config.group, fixture.topic, 0) == 50; });
  CHECK(daemon->process().is_running());
}
