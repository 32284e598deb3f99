// Partitions that are added: Kafka's producers move keys to them.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "process/support/order_fixture.hpp"

using namespace inboxd::support;

// fault: partition count raised, `order_scope: handler`
TEST_CASE("after partitions are added, events of a moved key wait for its earlier events with order_scope: handler") {
  constexpr int keys = 20;
  OrderFixture fixture{1, {"order_scope: handler", "retry: {max_attempts: 5, backoff: fixed, base: 1h, jitter: 0}"}};
  const auto daemon = fixture.start();
  const auto key = [](int i) { return "key" + std::to_string(i % keys); };
  fixture.events.produce(keys, [&](int i) { return KeyedEvents::Made{key(i), "Fails1"}; });
  fixture.database.wait_for("each has failed", "select count(*) from inbox.failure", keys);
  fixture.kafka.add_partitions(fixture.topic, 4);
  fixture.events.produce(3 * keys, [&](int i) { return KeyedEvents::Made{key(i)}; });
  fixture.wait_stored(4 * keys);
  CHECK(fixture.database.number("select count(distinct key) from inbox.events where partition > 0") > 0);
  fixture.database.wait_for("all wait", "select coalesce(sum(waiting), 0) from inbox.lanes where state = 'blocked'",
                            3 * keys);
  CHECK(fixture.recording.count() == keys);
  const auto retried = command(fixture.config, {"events", "retry", "--handler", "recorder", "--yes"});
  INFO(retried.out << retried.err);
  CHECK(retried.status == ExitStatus{0, 0});
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
}

// fault: partition count raised, `order_scope: partition`
TEST_CASE("partitions that are added to a topic with events are warned about: keys may have moved to them") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.produce(5);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->count_in_log("kind=consumer.partitions_added") == 0);
  fixture.kafka.add_partitions(fixture.topic, 2);
  daemon->wait_log("topic=" + fixture.topic + " kind=consumer.partitions_added");
}
