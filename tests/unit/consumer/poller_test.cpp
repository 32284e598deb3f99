// The poll thread against the client library's own stand-in for brokers; the test answers for the ingester.
#include "consumer/poller.hpp"

#include <librdkafka/rdkafka_mock.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "kafka/properties.hpp"
#include "support/wait.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;
using support::eventually;
using support::holds_for;

class NoHandOff final : public HandOff {
 public:
  Room reserve(std::int32_t, std::int64_t, std::size_t) override { return {}; }
  void hand_over(inbox::LeasedRun, std::int64_t) override {}
  void release(std::int32_t, std::int64_t) override {}
  void born_due(std::int32_t) override {}
};

/// A poll thread, subscribed to an empty topic, and an ingester that never runs.
struct Reader {
  static constexpr const char* topic = "orders";

  Reader() {
    auto conf = kafka::make_conf({"127.0.0.1:1", "group", "", {{"heartbeat.interval.ms", "100"}}, 0});
    REQUIRE(conf);
    poller.prepare(conf.value().get());
    char error[256];
    REQUIRE(rd_kafka_conf_set(conf.value().get(), "test.mock.num.brokers", "1", error, sizeof error) ==
            RD_KAFKA_CONF_OK);
    auto made = kafka::make_consumer(std::move(conf).value());
    REQUIRE(made);
    client = std::move(made).value();
    rd_kafka_mock_cluster_t* const brokers = rd_kafka_handle_mock_cluster(client.get());
    rd_kafka_mock_group_initial_rebalance_delay_ms(brokers, 0);
    rd_kafka_mock_topic_create(brokers, topic, 1, 1);
    rd_kafka_poll_set_consumer(client.get());
    auto other = kafka::make_conf({rd_kafka_mock_cluster_bootstraps(brokers), "", "", {}, 0});
    REQUIRE(other);
    auto also_made = kafka::make_consumer(std::move(other).value());
    REQUIRE(also_made);
    asker = std::move(also_made).value();
    const Clients clients{client.get(), asker.get()};
    ingester = std::make_unique<Ingester>(IngesterContext{settings,
                                                          {},
                                                          clients,
                                                          topics,
                                                          registrations,
                                                          hand_off,
                                                          counts,
                                                          board,
                                                          poller.mailbox(),
                                                          poller.revocations(),
                                                          poller.recreated(),
                                                          watchdog,
                                                          log},
                                          0);
    poller.start(clients, {topic}, {ingester.get()});
  }
  ~Reader() {
    poller.request_stop();
    poller.join();
    ingester.reset();
  }
  Assignment assignment(std::uint64_t generation, std::uint64_t ask) const { return {{topic, 0}, generation, ask}; }
  void find(const Assignment& where, std::int64_t offset) { poller.mailbox().send(Found{where, offset, -1}); }

  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  config::Settings settings;
  const Topics topics{{}};
  inbox::Registrations registrations;
  NoHandOff hand_off;
  IngestCounts counts;
  Board board;
  inbox::Watchdog watchdog;
  Poller poller{board, log};
  kafka::Client client, asker;
  std::unique_ptr<Ingester> ingester;
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
