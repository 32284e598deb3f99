// A fatal error of the relay's producer.
#include <catch2/catch_test_macros.hpp>

#include "process/outbox/outbox_fixture.hpp"
#include "support/http.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE(
    "after a fatal error of its producer the relay sends all messages with another producer, under the same ids") {
  MockBrokers brokers;
  OutboxFixture fixture{1};
  brokers.serve(fixture.config);
  brokers.create_topic(fixture.topic, 1);
  const auto daemon = fixture.start();
  daemon->wait_log("relay: sends the outbox");
  fixture.publish(100);
  fixture.wait_received(100);
  brokers.break_sequence();
  fixture.publish(100, 100);
  fixture.wait_received(200);
  fixture.wait_empty();
  CHECK(daemon->count_in_log("kind=relay.producer_failed") == 1);
  CHECK(daemon->count_in_log("OUT_OF_ORDER_SEQUENCE_NUMBER") >= 1);
  fixture.publish(100, 200);
  fixture.wait_received(300);
  CHECK(fixture.out_of_order() == 0);
  CHECK(fixture.database.number("select count(distinct payload) from inbox.event") == 300);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
