#include <chrono>
#include <map>

#include "support/kafka.hpp"
#include "support/wait.hpp"
#include "unit/consumer/member.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

using namespace std::chrono_literals;

/// A member that commits by itself only once per hour.
struct RareCommits : consumer::Member {
  RareCommits(const std::string& brokers, const std::string& orders, const std::string& readers)
      : Member{orders, readers, std::chrono::hours{1}} {
    make_client(prepared(brokers));
    start(brokers);
  }
};

}  // namespace

TEST_CASE("stored positions are committed to the group when the partition moves to another member") {
  Kafka kafka;
  const std::string topic = kafka.create_topic(), group = "group-of-" + topic;
  for (int i = 0; i < 10; ++i) kafka.produce({event_message(topic, "event-" + std::to_string(i))});
  RareCommits first{kafka.brokers(), topic, group};
  REQUIRE(eventually([&] { return first.poller.assigned() == 1; }));
  REQUIRE(eventually([&] {
    first.answer(first.assignment(1, 0), 7);
    return first.poller.reading() == 1;
  }));
  holds_for("nothing is committed before", 1'500ms, [&] { return kafka.committed(group, topic).empty(); });

  const RareCommits second{kafka.brokers(), topic, group};
  CHECK(eventually([&] { return first.poller.revocations() > 0; }));
  CHECK(eventually([&] { return kafka.committed(group, topic) == std::map<int, std::int64_t>{{0, 7}}; }));
}
