// Commits of offsets that the group refuses: a member that it has left behind.
#include <catch2/catch_test_macros.hpp>

#include "process/support/stage.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a commit of offsets that the group refuses is made later, and costs nothing else") {
  MockBrokers brokers;
  Stage stage{1};
  brokers.serve(stage.config);
  brokers.create_topic(stage.topic, 1);
  const auto daemon = stage.start();
  brokers.refuse_commits(3);
  Kafka kafka{brokers.addresses()};
  stage.produce_through(kafka, 50);
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 50);
  daemon->wait_log("not committed; tried again");
  wait_until("it is committed", [&] { return brokers.committed(stage.config.group, stage.topic, 0) == 50; });
  CHECK(daemon->process().is_running());
}
