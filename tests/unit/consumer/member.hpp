#pragma once
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "consumer/poller.hpp"
#include "formats/topic_decoder.hpp"
#include "unit/kafka/client.hpp"

namespace inboxd::consumer {

class NoHandOff final : public HandOff {
 public:
  Reservation reserve(std::int32_t, std::int64_t, std::size_t) override { return {}; }
  void hand_over(inbox::LeasedRun, std::int64_t) override {}
  void release(std::int32_t, std::int64_t) override {}
  void notify_due(std::int32_t) override {}
};

/// A group member with a running poll thread. Its only ingester never runs: the test answers in its place.
struct Member {
  Member(std::string topic_name, std::string group_name, std::chrono::seconds commit_interval = std::chrono::seconds{1})
      : topic{std::move(topic_name)}, group{std::move(group_name)}, poller{status, log, commit_interval} {}
  ~Member() {
    poller.request_stop();
    poller.join();
    ingester.reset();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  kafka::Conf prepared(const std::string& brokers) {
    auto conf = kafka::make_conf({brokers, group, "", {{"heartbeat.interval.ms", "100"}}, 0});
    REQUIRE(conf);
    poller.prepare(conf.value().get());
    return std::move(conf).value();
  }
  void make_client(kafka::Conf conf) {
    auto made = kafka::make_consumer(std::move(conf));
    REQUIRE(made);
    client = std::move(made).value();
    rd_kafka_poll_set_consumer(client.get());
  }
  void start(const std::string& brokers) {
    query_client = kafka::client_of(brokers);
    const kafka::Clients clients{client.get(), query_client.get()};
    ingester = std::make_unique<Ingester>(IngesterContext{settings,
                                                          {},
                                                          clients,
                                                          topics,
                                                          registrations,
                                                          hand_off,
                                                          counts,
                                                          status,
                                                          poller.mailbox(),
                                                          poller.revocations(),
                                                          poller.recreated(),
                                                          decoders,
                                                          watchdog,
                                                          log},
                                          0);
    poller.start(clients, {topic}, {ingester.get()});
  }

  Assignment assignment(std::uint64_t generation, std::uint64_t lookup) const {
    return {{topic, 0}, generation, lookup};
  }
  /// Answers a look-up.
  void answer(const Assignment& where, std::int64_t offset) { poller.mailbox().send(PositionFound{where, offset, -1}); }

  std::string topic, group;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  config::Settings settings;
  const config::Topics topics{{}};
  formats::Decoders decoders{formats::Decoders::ingest_patience};
  inbox::Registrations registrations;
  NoHandOff hand_off;
  IngestCounts counts;
  PartitionStatus status;
  inbox::Watchdog watchdog;
  Poller poller;
  kafka::Client client, query_client;
  std::unique_ptr<Ingester> ingester;
};

}  // namespace inboxd::consumer
