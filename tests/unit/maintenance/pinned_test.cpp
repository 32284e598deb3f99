#include "maintenance/pinned.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using namespace std::chrono_literals;
using maintenance::Pinned;

TEST_CASE("who keeps vacuum waiting has done so as long as the server says, or as long as it was seen") {
  Pinned pinned;
  const Pinned::Clock::time_point begin{};
  inbox::OldestTransaction oldest;
  oldest.id = "700";
  CHECK(pinned.look(oldest, begin) == 0s);
  CHECK(pinned.look(oldest, begin + 60s) == 60s);
  oldest.age = 1h;
  CHECK(pinned.look(oldest, begin + 120s) == 1h);
  oldest.age.reset();
  CHECK(pinned.look(oldest, begin + 180s) == 180s);
  oldest.id = "800";  // another, or the same has moved on
  CHECK(pinned.look(oldest, begin + 240s) == 0s);
  CHECK(pinned.look(std::nullopt, begin + 300s) == 0s);
  CHECK(pinned.look(oldest, begin + 360s) == 0s);
}
