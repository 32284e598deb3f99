// A broker that hangs and wakes: the client library drops all brokers if the first answers afterwards name none.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "process/support/daemon_fixture.hpp"
#include "support/private_kafka.hpp"
#include "support/process.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Produces while the broker hangs and after, and waits until the daemon has read all.
void hang_for(std::chrono::seconds time, PrivateKafka& broker, DaemonFixture& fixture, DaemonProcess& daemon) {
  {
    Kafka before{broker.brokers()};
    for (int i = 0; i < 10; ++i) fixture.produce_through(before, 20);
  }
  broker.hang();
  std::this_thread::sleep_for(time);
  broker.wake();
  const auto woken = monotonic_ms();
  Kafka after{broker.brokers()};
  fixture.produce_through(after, 20);
  const auto counts = fixture.wait_done("recorder", milliseconds{120'000});
  CHECK(counts.is_perfect());
  WARN("hung for " << time.count() << " s, all read " << monotonic_ms() - woken << " ms after it woke, "
                   << daemon.count_in_log("kind=consumer.remade") << " new clients");
}

}  // namespace

// fault: a broker hangs for 5, 15, 40 s
// fault: metadata without brokers
TEST_CASE("after all brokers hung for 5, 15 and 40 s, their records are read again without a restart") {
  const int brokers = is_long() ? GENERATE(1, 3) : 1;
  PrivateKafka cluster{{}, brokers};
  Kafka kafka{cluster.brokers()};
  DaemonFixture fixture{3};
  kafka.create_topic(3, fixture.topic);
  fixture.config.brokers = cluster.brokers();
  fixture.config.kafka.clear();  // as in production: sessions of 10 s
  const auto daemon = fixture.start();
  fixture.produce_through(kafka, 100);
  CHECK(fixture.wait_done().is_perfect());
  for (int round = 0; round < (is_long() ? 10 : 1); ++round) {
    for (const int seconds : {15, 40, 5}) {
      if (seconds < 40 || is_long()) hang_for(std::chrono::seconds{seconds}, cluster, fixture, *daemon);
    }
  }
  CHECK(fixture.counts().is_perfect());
}

// fault: metadata without brokers
TEST_CASE("a client that may not go back to kafka.brokers reads again after a hang, or is replaced once") {
  PrivateKafka broker;
  Kafka kafka{broker.brokers()};
  DaemonFixture fixture{3};
  kafka.create_topic(3, fixture.topic);
  fixture.config.brokers = broker.brokers();
  fixture.config.kafka = {{"metadata.recovery.strategy", "none"}};  // never back to kafka.brokers
  const auto daemon = fixture.start();
  fixture.produce_through(kafka, 100);
  CHECK(fixture.wait_done().is_perfect());
  hang_for(std::chrono::seconds{15}, broker, fixture, *daemon);
  CHECK(daemon->count_in_log("kind=consumer.remade") <= 1);  // it is stuck only if the first answers name no broker
  fixture.produce_through(kafka, 20);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
