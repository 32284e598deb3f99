// A partition that is to be read, and of which nothing comes.
#include <catch2/catch_test_macros.hpp>

#include "process/support/stage.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a partition of which nothing comes is sought again, and nothing of it is lost or doubled") {
  MockBrokers brokers;
  Stage stage{1};
  brokers.serve(stage.config);
  brokers.create_topic(stage.topic, 1);
  Kafka kafka{brokers.addresses()};
  stage.produce_through(kafka, 50);
  brokers.delay_fetch(std::chrono::seconds{14});
  const auto daemon = stage.start();
  daemon->wait_log("nothing comes of a partition that is to be read; sought again");
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 50);
  CHECK(daemon->count_in_log("nothing comes of a partition") == 1);
}
