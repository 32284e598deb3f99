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
  CHECK(std::chrono::steady_clock::now() - began < 60 * GroupOffsetCheck::answer_within / 2);
}

TEST_CASE("a first position below the group's offset is an alarm if the offset was committed in its epoch") {
  inbox::ShardPosition position;
  position.shard_id = 7;
  position.epoch = 2;
  position.is_beginning = true;
  CHECK_FALSE(began_after_commit(position, commit_metadata(position)));
  CHECK_FALSE(began_after_commit(position, "inboxd 7 3"));  // a later seek was lost, too
  for (const char* const older : {"inboxd 7 1", "inboxd 8 2", "", "another program's"}) {
    INFO(older);
    CHECK(began_after_commit(position, older));
  }
  position.is_beginning = false;
  CHECK_FALSE(began_after_commit(position, ""));
}

}  // namespace inboxd::consumer
