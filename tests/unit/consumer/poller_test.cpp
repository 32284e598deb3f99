// The poll thread against the client library's own stand-in for brokers; the test answers for the ingester.
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

/// A member of a group of the stand-in, subscribed to an empty topic.
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
};

}  // namespace

TEST_CASE("a partition that the client has stopped reading, unnoticed, is read on after it was assigned again") {
  Reader reader;
  REQUIRE(eventually([&] { return reader.poller.assigned() == 1; }));
  // Sought behind the end: the library ends the partition and says so, to an ingester that does not read just now.
  REQUIRE(eventually([&] {
    reader.find(reader.assignment(1, 0), 1'000'000);
    return reader.poller.running() == 1;
  }));
  REQUIRE(eventually([&] {
    const kafka::Message said{rd_kafka_consume_queue(reader.ingester->queue(), 100)};
    return said != nullptr && said->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET;
  }));
  reader.poller.mailbox().send(OutOfStep{reader.assignment(1, 0)});
  REQUIRE(eventually([&] { return reader.poller.running() == 0; }));
  // What a look-up finds, whichever it is that is asked for by then.
  CHECK(eventually([&] {
    for (std::uint64_t ask = 1; ask < 20; ++ask) reader.find(reader.assignment(1, ask), 0);
    reader.find(reader.assignment(2, 0), 0);
    std::this_thread::sleep_for(50ms);
    return reader.poller.running() == 1;
  }));
}

TEST_CASE("a halted partition that the client refuses again and again disturbs the group once, and then rarely") {
  Reader reader;
  REQUIRE(eventually([&] { return reader.poller.assigned() == 1; }));
  const auto end_reading = [&](std::uint64_t generation) {
    std::uint64_t ask = 0;
    const bool is_read = eventually([&] {
      reader.find(reader.assignment(generation, ask), 1'000'000);
      return reader.poller.running() == 1;
    });
    if (!is_read) return false;
    return eventually([&] {
      const kafka::Message said{rd_kafka_consume_queue(reader.ingester->queue(), 100)};
      return said != nullptr && said->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET;
    });
  };
  const auto refuse = [&](std::uint64_t generation) {
    reader.poller.mailbox().send(Halted{reader.assignment(generation, 0)});
    reader.find(reader.assignment(generation, 0), 0);
  };
  REQUIRE(end_reading(1));
  refuse(1);
  REQUIRE(eventually([&] { return reader.poller.revocations() == 1 && reader.poller.assigned() == 1; }));
  REQUIRE(end_reading(2));
  holds_for("the group is left alone", 2s, [&] {
    refuse(2);
    return reader.poller.revocations() == 1;
  });
}

TEST_CASE("a letter about an older look-up, or of an older assignment, changes nothing") {
  Reader reader;
  REQUIRE(eventually([&] { return reader.poller.assigned() == 1; }));
  const auto is_read_after = [&](std::uint64_t ask) {
    return eventually([&] {
      reader.find(reader.assignment(1, ask), 0);
      return reader.poller.running() == 1;
    });
  };
  REQUIRE(is_read_after(0));
  reader.poller.mailbox().send(OutOfStep{reader.assignment(1, 0)});
  REQUIRE(eventually([&] { return reader.poller.running() == 0; }));

  reader.find(reader.assignment(1, 0), 0);
  reader.find(reader.assignment(0, 1), 0);
  holds_for("it waits for the answer to the newest question", 200ms, [&] { return reader.poller.running() == 0; });

  REQUIRE(is_read_after(1));
  reader.poller.mailbox().send(OutOfStep{reader.assignment(1, 0)});
  reader.poller.mailbox().send(Halted{reader.assignment(0, 1)});
  holds_for("it is read on", 200ms, [&] { return reader.poller.running() == 1; });
}

}  // namespace inboxd::consumer
