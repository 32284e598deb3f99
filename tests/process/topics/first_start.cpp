#include <catch2/catch_test_macros.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a partition without a leader delays no other of its pattern, and starts as of the first start") {
  MockBrokers brokers;
  DaemonFixture fixture{1};
  brokers.serve(fixture.config);
  const std::string prefix = random_name("family");
  fixture.config.topics = {"{pattern: \"^" + prefix + "\\\\.\", start: end}"};
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
  brokers.remove_leader(ill, 1);
  const auto daemon = fixture.start();
  fixture.database.wait_for("the others have begun", "select count(position) from inbox.lag", 2);
  fixture.note(produce(well, 0));
  fixture.note(produce(ill, 0));
  CHECK(fixture.wait_done().is_perfect());
  wait_until("it is said",
             [&] { return command(fixture.config, {"status"}).out.find("no leader") != std::string::npos; });

  brokers.elect_leader(ill, 1);
  fixture.database.wait_for("it begins, too", "select count(position) from inbox.lag", 3);
  fixture.note(produce(ill, 1));
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.event") == 30);
  fixture.database.wait_for("the reason is gone", "select count(*) from inbox.lag where halted_reason is not null", 0);
}
