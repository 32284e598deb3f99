// What the group is told when partitions go to another member; the broker is a real one.
#include <chrono>
#include <map>

#include "support/kafka.hpp"
#include "support/wait.hpp"
#include "unit/consumer/member.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

using namespace std::chrono_literals;

/// One that commits of its own accord only once in an hour.
struct Patient : consumer::Member {
  Patient(const std::string& brokers, const std::string& orders, const std::string& readers)
      : Member{orders, readers, std::chrono::hours{1}} {
    make_client(prepared(brokers));
    start(brokers);
  }
};

}  // namespace

TEST_CASE("what the database has is committed to the group when the partition goes to another member") {
  Kafka kafka;
  const std::string topic = kafka.create_topic(), group = "group-of-" + topic;
  for (int i = 0; i < 10; ++i) kafka.produce({event_message(topic, "event-" + std::to_string(i))});
  Patient first{kafka.brokers(), topic, group};
  REQUIRE(eventually([&] { return first.poller.assigned() == 1; }));
  REQUIRE(eventually([&] {
    first.find(first.assignment(1, 0), 7);
    return first.poller.running() == 1;
  }));
  holds_for("nothing is committed before", 1'500ms, [&] { return kafka.committed(group, topic).empty(); });

  const Patient second{kafka.brokers(), topic, group};
  CHECK(eventually([&] { return first.poller.revocations() > 0; }));
  CHECK(eventually([&] { return kafka.committed(group, topic) == std::map<int, std::int64_t>{{0, 7}}; }));
}
