#include <catch2/catch_test_macros.hpp>

#include "queue/low_water.hpp"

namespace inboxd::dispatcher {
namespace {

using Clock = LowWater::Clock;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr event::Microseconds second = 1'000'000;
constexpr event::Microseconds margin = 500'000;

inbox::DueReading reading(std::optional<event::Microseconds> earliest, event::Microseconds now, std::uint64_t xmin,
                          std::uint64_t xmax) {
  return {earliest, now, xmin, xmax, std::nullopt};
}

}  // namespace

TEST_CASE("a single reading gives no mark") {
  LowWater low;
  const Clock::time_point t{};
  CHECK_FALSE(low.not_before());
  low.observe(reading(50 * second, 100 * second, 10, 20), t, t);
  CHECK_FALSE(low.not_before());
}

TEST_CASE("the mark moves to the earliest due time once older transactions have ended") {
  LowWater low;
  const Clock::time_point t{};
  low.observe(reading(50 * second, 100 * second, 10, 20), t, t);
  low.observe(reading(60 * second, 101 * second, 20, 30), t + seconds{1}, t + seconds{1});
  CHECK(low.not_before() == 60 * second);
}

TEST_CASE("the mark never passes the earlier reading, as rows made later are due later") {
  LowWater low;
  const Clock::time_point t{};
  low.observe(reading(std::nullopt, 100 * second, 10, 20), t, t);
  low.observe(reading(std::nullopt, 101 * second, 25, 30), t + seconds{1}, t + seconds{1});
  CHECK(low.not_before() == 100 * second - margin);
  low.observe(reading(130 * second, 102 * second, 30, 40), t + seconds{2}, t + seconds{2});
  CHECK(low.not_before() == 101 * second - margin);
}

TEST_CASE("an open transaction holds the mark") {
  LowWater low;
  const Clock::time_point t{};
  low.observe(reading(std::nullopt, 100 * second, 15, 20), t, t);
  for (int i = 1; i < 50; ++i) {
    low.observe(reading(std::nullopt, (100 + i) * second, 15, 20 + static_cast<std::uint64_t>(i)), t + seconds{i},
                t + seconds{i});
    CHECK_FALSE(low.not_before());
  }
  low.observe(reading(std::nullopt, 150 * second, 20, 100), t + seconds{50}, t + seconds{50});
  CHECK(low.not_before() == 100 * second - margin);
}

TEST_CASE("an open transaction holds the mark for seconds, or to its end if it inserts deliveries") {
  LowWater low;
  const Clock::time_point t{};
  const auto observe = [&](int at, std::optional<event::Microseconds> earliest, std::uint64_t writers) {
    auto read = reading(earliest, (100 + at) * second, 15, 20 + static_cast<std::uint64_t>(at));
    if (low.asks_writers(t + seconds{at})) read.writers = writers;
    low.observe(read, t + seconds{at}, t + seconds{at});
  };
  observe(0, std::nullopt, 0);
  CHECK_FALSE(low.asks_writers(t + LowWater::standstill - milliseconds{1}));
  REQUIRE(low.asks_writers(t + LowWater::standstill));
  observe(2, std::nullopt, 19);  // open since before the first reading, and inserts deliveries
  observe(3, std::nullopt, 20);  // it has ended, unseen by this reading
  CHECK_FALSE(low.not_before());
  observe(4, 70 * second, 24);  // sees its rows
  CHECK(low.not_before() == 70 * second);
  observe(5, std::nullopt, 25);
  CHECK_FALSE(low.asks_writers(t + seconds{5}));
  observe(6, std::nullopt, 26);
  observe(7, std::nullopt, 27);
  CHECK(low.not_before() == 104 * second - margin);
}

TEST_CASE("open transactions reported after one reading do not count two readings later") {
  LowWater low;
  const Clock::time_point t{};
  low.observe(reading(std::nullopt, 100 * second, 15, 20), t, t);
  auto with_writers = reading(std::nullopt, 102 * second, 15, 22);
  with_writers.writers = 50;
  low.observe(with_writers, t + seconds{2}, t + seconds{2});
  low.observe(reading(std::nullopt, 103 * second, 15, 23), t + seconds{3}, t + seconds{3});
  REQUIRE(low.not_before() == 100 * second - margin);
  low.observe(reading(std::nullopt, 104 * second, 15, 24), t + seconds{4}, t + seconds{4});
  CHECK(low.not_before() == 100 * second - margin);
}

TEST_CASE("a slow reading is dated by the time at which it was asked for") {
  LowWater low;
  const Clock::time_point t{};
  low.observe(reading(std::nullopt, 100 * second, 10, 20), t, t + seconds{3});
  low.observe(reading(std::nullopt, 104 * second, 20, 30), t + seconds{4}, t + seconds{4});
  CHECK(low.not_before() == 97 * second - margin);
}

TEST_CASE("once a minute a reading ignores the mark, and an older row moves the mark back") {
  LowWater low;
  const Clock::time_point t{};
  low.observe(reading(std::nullopt, 100 * second, 10, 20), t, t);
  low.observe(reading(std::nullopt, 101 * second, 20, 30), t + seconds{1}, t + seconds{1});
  const auto mark = low.not_before();
  REQUIRE(mark);
  CHECK(low.reading_from(t + seconds{2}) == mark);
  const auto later = t + seconds{61};
  CHECK(low.reading_from(later) == std::nullopt);
  low.observe(reading(5 * second, 161 * second, 10, 90), later, later);
  CHECK(low.not_before() == 5 * second);
  CHECK(low.reading_from(later + seconds{1}) == 5 * second);
}

TEST_CASE("the longer a reading without the mark takes, the rarer it is") {
  LowWater low;
  const Clock::time_point t{};
  low.observe(reading(std::nullopt, 100 * second, 10, 20), t, t + seconds{1});
  low.observe(reading(std::nullopt, 102 * second, 20, 30), t + seconds{2}, t + seconds{3});
  CHECK(low.reading_from(t + seconds{501}));
  CHECK_FALSE(low.reading_from(t + seconds{502}));
  low.observe(reading(std::nullopt, 603 * second, 30, 40), t + seconds{503}, t + seconds{533});
  CHECK(low.reading_from(t + seconds{503} + minutes{10} - milliseconds{1}));
  CHECK_FALSE(low.reading_from(t + seconds{503} + minutes{10}));
}

TEST_CASE("after the database's clock was set back, the mark is unknown until two readings later") {
  LowWater low;
  const Clock::time_point t{};
  low.observe(reading(std::nullopt, 100 * second, 10, 20), t, t);
  low.observe(reading(std::nullopt, 110 * second, 20, 30), t + seconds{10}, t + seconds{10});
  REQUIRE(low.not_before());
  low.observe(reading(std::nullopt, 113 * second, 30, 40), t + seconds{20}, t + seconds{20});
  CHECK_FALSE(low.not_before());
  CHECK_FALSE(low.reading_from(t + seconds{20}));
  low.observe(reading(std::nullopt, 114 * second, 40, 50), t + seconds{21}, t + seconds{21});
  CHECK_FALSE(low.not_before());
  low.observe(reading(std::nullopt, 115 * second, 50, 60), t + seconds{22}, t + seconds{22});
  CHECK(low.not_before() == 114 * second - margin);
}

}  // namespace inboxd::dispatcher
