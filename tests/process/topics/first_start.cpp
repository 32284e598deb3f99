// The first start of a pattern beside a partition that nobody leads.
#include <catch2/catch_test_macros.hpp>

#include "process/support/stage.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE(
    "a partition without a leader keeps no other of its pattern from its first start, and follows from that moment") {
  MockBrokers brokers;
  Stage stage{1};
  brokers.serve(stage.config);
  const std::string prefix = random_name("family");
  stage.config.topics = {"{pattern: \"^" + prefix + "\\\\.\", start: end}"};
  const std::string well = prefix + ".well", ill = prefix + ".ill";
  brokers.create_topic(well, 1);
  brokers.create_topic(ill, 2);
  Kafka kafka{brokers.addresses()};
  int number = 0;
  const auto produce = [&](const std::string& topic, int partition) {
    std::vector<Message> messages;
    std::vector<std::string> ids;
    for (int i = 0; i < 10; ++i) {
      ids.push_back("6b000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++));
      messages.push_back(event_message(topic, ids.back()));
      messages.back().partition = partition;
    }
    kafka.produce(messages);
    return ids;
  };
  produce(well, 0);  // before the first start
  produce(ill, 1);
  brokers.unseat(ill, 1);
  const auto daemon = stage.start();
  stage.database.wait_for("the others have begun", "select count(position) from inbox.lag", 2);
  stage.note(produce(well, 0));
  stage.note(produce(ill, 0));
  CHECK(stage.wait_done().is_perfect());
  wait_until("it is said",
             [&] { return command(stage.config, {"status"}).out.find("no leader") != std::string::npos; });

  brokers.elect(ill, 1);
  stage.database.wait_for("it begins, too", "select count(position) from inbox.lag", 3);
  stage.note(produce(ill, 1));
  CHECK(stage.wait_done().is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.event") == 30);
  stage.database.wait_for("the reason is gone", "select count(*) from inbox.lag where halted_reason is not null", 0);
}
