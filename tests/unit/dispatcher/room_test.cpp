#include "dispatcher/room.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {
namespace {

RoomState state() { return {1'000, 8, 0, 20'000, 1 << 20, 100}; }

}  // namespace

TEST_CASE("a handler gets in hand what is missing to its target") {
  auto s = state();
  CHECK(free_room(s) == 1'000);
  s.held = 400;
  CHECK(free_room(s) == 600);
  s.held = 1'500;
  CHECK(free_room(s) == 0);
}

TEST_CASE("its minimum is never denied for the number of events, only for their bytes") {
  auto s = state();
  s.events_left = 0;
  CHECK(free_room(s) == 8);
  s.held = 6;
  CHECK(free_room(s) == 2);
  s.bytes_left = 150;
  CHECK(free_room(s) == 1);
  s.bytes_left = 0;
  CHECK(free_room(s) == 0);
}

TEST_CASE("one event always fits where nothing is held, however large") {
  auto s = state();
  s.bytes_left = 0;
  s.events_left = 0;
  CHECK(free_room(s) == 1);
}

TEST_CASE("a target below the minimum does not count") {
  auto s = state();
  s.target = 1;
  CHECK(free_room(s) == 8);
}

TEST_CASE("one handler alone may use all of a budget") {
  Budget budget{1'000};
  CHECK(budget.left_for(0) == 1'000);
  budget.use(budget.common_part(700));
  CHECK(budget.left_for(700) == 300);
  budget.use(budget.common_part(1'000) - budget.common_part(700));
  CHECK(budget.left_for(1'000) == 0);
}

TEST_CASE("a handler that takes all it can leaves the others their share, and the limit holds") {
  Budget budget{1'000};
  budget.deal(5);
  CHECK(budget.share() == 100);
  budget.use(budget.common_part(600));
  CHECK(budget.left_for(600) == 0);
  for (int other = 0; other < 4; ++other) CHECK(budget.left_for(0) == 100);
  CHECK(600 + 4 * 100 == 1'000);
}

}  // namespace inboxd::dispatcher
