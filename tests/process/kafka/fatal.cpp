// A fatal error of the handler's producer.
#include <catch2/catch_test_macros.hpp>

#include <set>

#include "process/kafka/publish_fixture.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("after a fatal error of its producer the handler sends all events with another producer, and charges none") {
  MockBrokers brokers;
  PublishFixture fixture;
  brokers.create_topic(fixture.target, 1);
  fixture.config.handlers[0].settings["properties"] = "{bootstrap.servers: \"" + brokers.addresses() + "\"}";
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  brokers.break_sequence();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->count_in_log("replaced after a fatal error") == 1);
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  std::set<std::string> ids;
  Kafka written{brokers.addresses()};
  for (const ReadRecord& record : read_topic(brokers.addresses(), fixture.target, written.ends(fixture.target))) {
    ids.insert(record.header("inboxd-event-id"));
  }
  CHECK(ids == std::set<std::string>{fixture.ids().begin(), fixture.ids().end()});
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
