#include "dispatcher/pace.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

TEST_CASE("a new handler begins with a modest guess, at least a call for each worker") {
  CHECK(Pace{8, 1}.target() == 64);
  CHECK(Pace{8, 500}.target() == 4'000);
  CHECK(Pace{8, 1}.turn_of(64) == 1);
}

TEST_CASE("a fast handler's target grows to thousands within a few turns") {
  Pace pace{8, 1};
  std::int64_t turns = 0;
  while (pace.target() < 10'000) {
    pace.worked(pace.target(), microseconds{10});
    REQUIRE(++turns < 5);
  }
}

TEST_CASE("a slow handler gets about a second of its work") {
  Pace pace{8, 1};
  for (int i = 0; i < 100; ++i) pace.worked(1, milliseconds{100});
  CHECK(pace.target() >= 79);
  CHECK(pace.target() <= 81);
  CHECK(pace.per_second() > 79);
  CHECK(pace.turn_of(1'000) == 1);
}

TEST_CASE("a handler that turns slow is followed within seconds") {
  Pace pace{8, 1};
  for (int i = 0; i < 1'000; ++i) pace.worked(10'000, milliseconds{1});
  CHECK(pace.target() > 1'000'000);
  for (int calls = 0; calls < 8 * 8; ++calls) pace.worked(1, seconds{1});  // eight workers for eight seconds
  CHECK(pace.target() < 20);
}

TEST_CASE("calls that have not returned yet already tell that a handler is slow") {
  Pace pace{8, 1};
  pace.note_running({8, seconds{4}});
  CHECK(pace.target() == 16);
  pace.note_running({});
  CHECK(pace.target() == 64);
}

TEST_CASE("a worker takes about a millisecond of work, an even part of a short queue, and always whole calls") {
  Pace pace{8, 10};
  for (int i = 0; i < 100; ++i) pace.worked(1'000, milliseconds{10});  // 10 us an event
  CHECK(pace.turn_of(100'000) == 100);
  CHECK(pace.turn_of(400) == 50);
  CHECK(pace.turn_of(40) == 20);  // less is not worth waking another worker
  CHECK(pace.turn_of(1) == 20);
  Pace slow{8, 10};
  slow.worked(100, seconds{10});
  CHECK(slow.turn_of(100'000) == 10);
}

TEST_CASE("calls that share transactions go together for about 25 milliseconds, slow ones and the first alone") {
  Pace pace{8, 1};
  CHECK(pace.turn_in_transactions(1'000) == 1);
  for (int i = 0; i < 100; ++i) pace.worked(100, milliseconds{100});  // 1 ms a call
  CHECK(pace.turn_in_transactions(1'000) == 25);
  CHECK(pace.turn_in_transactions(16) == 2);  // the other workers get their part of a short queue
  for (int i = 0; i < 100; ++i) pace.worked(1, milliseconds{100});
  CHECK(pace.turn_in_transactions(1'000) == 1);
}

}  // namespace inboxd::dispatcher
