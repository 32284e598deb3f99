// The poll thread against the client library's mock brokers; the test answers in the ingester's place.
#include "unit/consumer/member.hpp"

#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <thread>

#include "support/wait.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;
using support::eventually;
using support::holds_for;

/// A member of a group on mock brokers, subscribed to an empty topic.
struct Reader : Member {
  Reader() : Member{"orders", "group"} {
    auto conf = prepared("127.0.0.1:1");
    char error[256];
    REQUIRE(rd_kafka_conf_set(conf.get(), "test.mock.num.brokers", "1", error, sizeof error) == RD_KAFKA_CONF_OK);
    make_client(std::move(conf));
    rd_kafka_mock_cluster_t* const brokers = rd_kafka_handle_mock_cluster(client.get());
    rd_kafka_mock_group_initial_rebalance_delay_ms(brokers, 0);
    rd_kafka_mock_topic_create(brokers, topic.c_str(), 1, 1);
    start(rd_kafka_mock_cluster_bootstraps(brokers));
  }

  /// The partition is assigned and not read yet. (The count of revocations rises before the old assignment ends.)
  bool waits_for_its_position() const {
    const std::vector<PartitionStatus::Entry> entries = status.entries();
    return entries.size() == 1 && entries.front().state == PartitionLife::State::looking_up;
  }

  /// Answers look-ups of an assignment, each once, until the partition is read. After a refused seek comes the next
  /// look-up; a second seek for the same look-up would drop the library's only error.
  bool reads_from(std::uint64_t generation, std::int64_t offset) {
    for (std::uint64_t lookup = 0; lookup < 20; ++lookup) {
      answer(assignment(generation, lookup), offset);
      if (eventually([&] { return poller.reading() == 1; }, 2s)) return true;
    }
    return false;
  }
};

}  // namespace

TEST_CASE("a partition whose fetching the client ended is read again after a rejoin") {
  Reader reader;
  REQUIRE(eventually([&] { return reader.poller.assigned() == 1; }));
  // A seek past the end: the library ends the fetching and says so to an ingester that does not read at the moment.
  REQUIRE(reader.reads_from(1, 1'000'000));
  REQUIRE(eventually([&] {
    const kafka::Message said{rd_kafka_consume_queue(reader.ingester->queue(), 100)};
    return said != nullptr && said->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET;
  }));
  reader.poller.mailbox().send(PositionDoubted{reader.assignment(1, 0)});
  REQUIRE(eventually([&] { return reader.poller.reading() == 0; }));
  // Answers whichever look-up is current.
  CHECK(eventually([&] {
    for (std::uint64_t lookup = 1; lookup < 20; ++lookup) reader.answer(reader.assignment(1, lookup), 0);
    reader.answer(reader.assignment(2, 0), 0);
    std::this_thread::sleep_for(50ms);
    return reader.poller.reading() == 1;
  }));
}

TEST_CASE("a halted partition that the client keeps refusing disturbs the group once, then rarely") {
  Reader reader;
  REQUIRE(eventually([&] { return reader.poller.assigned() == 1; }));
  const auto end_reading = [&](std::uint64_t generation) {
    if (!reader.reads_from(generation, 1'000'000)) return false;
    return eventually([&] {
      const kafka::Message said{rd_kafka_consume_queue(reader.ingester->queue(), 100)};
      return said != nullptr && said->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET;
    });
  };
  const auto refuse = [&](std::uint64_t generation) {
    reader.poller.mailbox().send(Halted{reader.assignment(generation, 0)});
    reader.answer(reader.assignment(generation, 0), 0);
  };
  REQUIRE(end_reading(1));
  refuse(1);
  REQUIRE(eventually([&] { return reader.poller.revocations() == 1 && reader.waits_for_its_position(); }));
  REQUIRE(end_reading(2));
  holds_for("the group is left alone", 2s, [&] {
    refuse(2);
    return reader.poller.revocations() == 1;
  });
}

TEST_CASE("a message about an older look-up or assignment changes nothing") {
  Reader reader;
  REQUIRE(eventually([&] { return reader.poller.assigned() == 1; }));
  const auto is_read_after = [&](std::uint64_t lookup) {
    return eventually([&] {
      reader.answer(reader.assignment(1, lookup), 0);
      return reader.poller.reading() == 1;
    });
  };
  REQUIRE(is_read_after(0));
  reader.poller.mailbox().send(PositionDoubted{reader.assignment(1, 0)});
  REQUIRE(eventually([&] { return reader.poller.reading() == 0; }));

  reader.answer(reader.assignment(1, 0), 0);
  reader.answer(reader.assignment(0, 1), 0);
  holds_for("it waits for the answer to the latest look-up", 200ms, [&] { return reader.poller.reading() == 0; });

  REQUIRE(is_read_after(1));
  reader.poller.mailbox().send(PositionDoubted{reader.assignment(1, 0)});
  reader.poller.mailbox().send(Halted{reader.assignment(0, 1)});
  holds_for("it is still read", 200ms, [&] { return reader.poller.reading() == 1; });
}

}  // namespace inboxd::consumer
