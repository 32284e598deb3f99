// Events of a topic that several databases share: how their keys were placed.
#include "operations/check_shards.hpp"

#include <catch2/catch_test_macros.hpp>

#include "kafka/partitioner.hpp"

using namespace inboxd;
using operations::PlacedKeys;

namespace {

enum class By { murmur2, crc32, own };

/// As a database with index 1 of 4 has them: keys that `by` places there.
void add_placed(PlacedKeys& keys, By by, int count) {
  constexpr int of = 4, index = 1;
  for (int i = 0; count > 0; ++i) {
    const std::string key = "key" + std::to_string(i);
    const int remainder = by == By::murmur2 ? kafka::murmur2_remainder(key, of)
                          : by == By::crc32 ? kafka::crc32_remainder(key, of)
                                            : static_cast<int>(key.size()) % of;
    if (by != By::own && remainder != index) continue;
    keys.add(key, 8 + index, of);
    --count;
  }
}

}  // namespace

TEST_CASE("keys are hashed as Java clients and librdkafka do") {
  CHECK(kafka::murmur2_remainder("foobar", 1'000) == 166);  // -790332482 in Kafka's own test, without its sign
  CHECK(kafka::murmur2_remainder("21", 1'000) == 340);      // -973932308
  CHECK(kafka::crc32_remainder("foobar", 1'000) == 69);
}

TEST_CASE("keys that two partitioners have placed are told from keys of a single partitioner") {
  for (const By by : {By::murmur2, By::crc32, By::own}) {
    PlacedKeys keys;
    add_placed(keys, by, 100);
    CHECK(keys.events == 100);
    CHECK_FALSE(keys.is_mixed());
  }
  PlacedKeys mixed;
  add_placed(mixed, By::murmur2, 50);
  add_placed(mixed, By::crc32, 50);
  CHECK(mixed.is_mixed());
}

TEST_CASE("events without a key are counted, and tell nothing of the partitioner") {
  PlacedKeys keys;
  keys.add(std::nullopt, 1, 4);
  keys.add("", 1, 4);
  CHECK(keys.without_key == 2);
  CHECK(keys.neither == 0);
}
