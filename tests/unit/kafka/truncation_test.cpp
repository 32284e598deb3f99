#include "kafka/truncation.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::kafka {

TEST_CASE("the offset of a truncation is read from the client library's error, in both wordings") {
  const auto known = read_truncation(
      "Partition log truncation detected at offset 1000 (leader epoch 1): broker end offset is 900 (offset leader "
      "epoch "
      "1). Reset to INVALID.: Local: Partition log truncation detected (broker 1)");
  REQUIRE(known);
  CHECK(known->end == 900);
  const auto unknown = read_truncation(
      "No epoch found less or equal to offset 1000 (leader epoch 7): broker end offset is -1 (offset leader epoch -1). "
      "Reset using configured policy.: Local: Partition log truncation detected (broker 1)");
  REQUIRE(unknown);
  CHECK_FALSE(unknown->end);
}

TEST_CASE("a truncation in another wording has no known end, and other errors are none") {
  const auto other = read_truncation("something new: Local: Partition log truncation detected");
  REQUIRE(other);
  CHECK_FALSE(other->end);
  CHECK_FALSE(
      read_truncation("fetch failed due to requested offset not available on the broker: Broker: Offset out of range"));
}

}  // namespace inboxd::kafka
