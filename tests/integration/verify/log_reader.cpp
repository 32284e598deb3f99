// The log read back from a real broker.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "kafka/log_reader.hpp"
#include "kafka/properties.hpp"
#include "support/kafka.hpp"

using namespace inboxd;

TEST_CASE("a chunk of the log ends at its end or at its size, and the next one continues there") {
  support::Kafka brokers;
  const std::string topic = brokers.create_topic();
  std::vector<support::Message> messages;
  for (int i = 0; i < 10; ++i) messages.push_back({.topic = topic, .payload = std::string(1000, 'x')});
  brokers.produce(messages);
  kafka::ClientSettings settings;
  settings.brokers = brokers.brokers();
  const auto client = kafka::make_consumer(kafka::make_conf(settings).value()).value();
  kafka::LogReader reader{client.get(), {topic, 0}, 0};
  const auto read = [&](std::int64_t end, std::size_t max_bytes) {
    const auto chunk = reader.read(end, max_bytes, std::chrono::seconds{30}).value();
    CHECK(chunk.next == reader.next());
    return std::pair{chunk.messages.size(), chunk.next};
  };
  CHECK(read(8, 2500) == std::pair{std::size_t{3}, std::int64_t{3}});
  CHECK(read(8, 1) == std::pair{std::size_t{1}, std::int64_t{4}});
  CHECK(read(8, 1'000'000) == std::pair{std::size_t{4}, std::int64_t{8}});
  CHECK(read(10, 1'000'000) == std::pair{std::size_t{2}, std::int64_t{10}});
}
