#include "base/repeats.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace std::chrono_literals;
using inboxd::base::Repeats;

TEST_CASE("a repeated text is news once, and again after the quiet time") {
  Repeats repeats{30s};
  const Repeats::Clock::time_point begin{};
  CHECK(repeats.is_news("the database is away", begin));
  CHECK(!repeats.is_news("the database is away", begin + 29s));
  CHECK(repeats.is_news("the brokers are away", begin + 29s));
  CHECK(repeats.is_news("the database is away", begin + 30s));
  CHECK(!repeats.is_news("the database is away", begin + 59s));
}

TEST_CASE("endless kinds of news use bounded memory, and none is suppressed") {
  Repeats repeats{30s};
  const Repeats::Clock::time_point begin{};
  for (int kind = 0; kind < 5'000; ++kind) CHECK(repeats.is_news(std::to_string(kind), begin));
  CHECK(repeats.is_news("0", begin));  // dropped to make room
}
