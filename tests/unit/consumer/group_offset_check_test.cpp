#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "consumer/position_lookup.hpp"
#include "kafka/properties.hpp"

namespace inboxd::consumer {

using namespace std::chrono_literals;

TEST_CASE("a coordinator that does not answer is asked once, not for every partition") {
  auto conf = kafka::make_conf({"127.0.0.1:1", "group", "", {}, 0});
  REQUIRE(conf);
  auto client = kafka::make_consumer(std::move(conf).value());
  REQUIRE(client);
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::ShardPosition position;
  position.next_offset = 7;
  GroupOffsetCheck check;
  const auto began = std::chrono::steady_clock::now();
  for (std::int32_t partition = 0; partition < 60; ++partition) {
    CHECK_FALSE(check.is_ahead(client.value().get(), {"orders", partition}, position, log));
  }
  // 60 timeouts would take a minute.
  CHECK(std::chrono::steady_clock::now() - began < 60 * GroupOffsetCheck::answer_within / 4);
}

}  // namespace inboxd::consumer
