#include "base/heartbeat.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::base;
using namespace std::chrono_literals;

TEST_CASE("each loop without a recent beat is named") {
  const std::chrono::steady_clock::time_point begin{};
  const auto stalled = [&](std::chrono::seconds one, std::chrono::seconds other, std::chrono::seconds now) {
    return stalled_loops({{"one", begin + one}, {"other", begin + other}}, begin + now, 90s);
  };
  CHECK(stalled(0s, 0s, 89s).empty());
  CHECK(stalled(0s, 0s, 90s) == "one, other");
  CHECK(stalled(1s, 90s, 90s).empty());
  CHECK(stalled(90s, 0s, 90s) == "other");
  CHECK(stalled(0s, 90s, 90s) == "one");
}
