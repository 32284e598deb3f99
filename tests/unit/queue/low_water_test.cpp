#include "queue/low_water.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using Clock = LowWater::Clock;
using Earliest = std::optional<event::Microseconds>;

constexpr event::Microseconds second = 1'000'000;
constexpr event::Microseconds margin = 500'000;
const Clock::time_point t{};

struct Readings : LowWater {
  /// A reading at 100 s of the database and `at` seconds of this process, in which no row is due.
  void none(int at, std::uint64_t xmin, std::uint64_t xmax) { earliest(std::nullopt, at, xmin, xmax); }
  void earliest(Earliest due, int at, std::uint64_t xmin, std::uint64_t xmax) {
    observe({due, (100 + at) * second, xmin, xmax, std::nullopt}, t + at * 1s, t + at * 1s);
  }
};

}  // namespace

TEST_CASE("the mark moves to the earliest due time once older transactions have ended") {
  Readings low;
  CHECK_FALSE(low.not_before());
  low.earliest(50 * second, 0, 10, 20);
  CHECK_FALSE(low.not_before());  // a single reading gives none
  low.earliest(60 * second, 1, 20, 30);
  CHECK(low.not_before() == 60 * second);
}

TEST_CASE("the mark never passes the earlier reading, as rows made later are due later") {
  Readings low;
  low.none(0, 10, 20);
  low.none(1, 25, 30);
  CHECK(low.not_before() == 100 * second - margin);
  low.earliest(130 * second, 2, 30, 40);
  CHECK(low.not_before() == 101 * second - margin);
}

TEST_CASE("an open transaction holds the mark for seconds, or to its end if it inserts deliveries") {
  LowWater low;
  const auto observe = [&](int at, Earliest earliest, std::uint64_t writers) {
    inbox::DueReading read{earliest, (100 + at) * second, 15, 20 + static_cast<std::uint64_t>(at), std::nullopt};
    if (low.asks_writers(t + at * 1s)) read.writers = writers;
    low.observe(read, t + at * 1s, t + at * 1s);
  };
  observe(0, std::nullopt, 0);
  CHECK_FALSE(low.asks_writers(t + LowWater::standstill - 1ms));
  REQUIRE(low.asks_writers(t + LowWater::standstill));
  observe(2, std::nullopt, 19);  // open since before the first reading, and inserts deliveries
  observe(3, std::nullopt, 20);  // it has ended, unseen by this reading
  CHECK_FALSE(low.not_before());
  observe(4, 70 * second, 24);  // sees its rows
  CHECK(low.not_before() == 70 * second);
  observe(5, std::nullopt, 25);
  CHECK_FALSE(low.asks_writers(t + 5s));
  observe(6, std::nullopt, 26);
  observe(7, std::nullopt, 27);
  CHECK(low.not_before() == 104 * second - margin);
}

TEST_CASE("open transactions reported after one reading do not count two readings later") {
  Readings low;
  low.none(0, 15, 20);
  low.observe({std::nullopt, 102 * second, 15, 22, 50}, t + 2s, t + 2s);
  for (const int at : {3, 4}) {
    low.none(at, 15, 20 + static_cast<std::uint64_t>(at));
    CHECK(low.not_before() == 100 * second - margin);
  }
}

TEST_CASE("a slow reading is dated by the time at which it was asked for") {
  Readings low;
  low.observe({std::nullopt, 100 * second, 10, 20, std::nullopt}, t, t + 3s);
  low.none(4, 20, 30);
  CHECK(low.not_before() == 97 * second - margin);
}

TEST_CASE("once a minute a reading ignores the mark, and an older row moves the mark back") {
  Readings low;
  low.none(0, 10, 20);
  low.none(1, 20, 30);
  REQUIRE(low.not_before());
  CHECK(low.reading_from(t + 2s) == low.not_before());
  CHECK(low.reading_from(t + 61s) == std::nullopt);
  low.earliest(5 * second, 61, 10, 90);
  CHECK(low.not_before() == 5 * second);
  CHECK(low.reading_from(t + 62s) == 5 * second);
}

TEST_CASE("the longer a reading without the mark takes, the rarer it is") {
  LowWater low;
  const auto observe = [&](int from, int to, event::Microseconds now, std::uint64_t xmin) {
    low.observe({std::nullopt, now * second, xmin, xmin + 10, std::nullopt}, t + from * 1s, t + to * 1s);
  };
  observe(0, 1, 100, 10);
  observe(2, 3, 102, 20);
  CHECK(low.reading_from(t + 501s));
  CHECK_FALSE(low.reading_from(t + 502s));
  observe(503, 533, 603, 30);
  CHECK(low.reading_from(t + 503s + 10min - 1ms));
  CHECK_FALSE(low.reading_from(t + 503s + 10min));
}

TEST_CASE("after the database's clock was set back, the mark is unknown until two readings later") {
  LowWater low;
  const auto observe = [&](int at, event::Microseconds now, std::uint64_t xmin) {
    low.observe({std::nullopt, now * second, xmin, xmin + 10, std::nullopt}, t + at * 1s, t + at * 1s);
    return low.not_before();
  };
  CHECK_FALSE(observe(0, 100, 10));
  REQUIRE(observe(10, 110, 20));
  CHECK_FALSE(observe(20, 113, 30));
  CHECK_FALSE(low.reading_from(t + 20s));
  CHECK_FALSE(observe(21, 114, 40));
  CHECK(observe(22, 115, 50) == 114 * second - margin);
}

}  // namespace inboxd::dispatcher
