#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "maintenance/turn.hpp"

using namespace inboxd;
using namespace std::chrono_literals;

TEST_CASE("a gentle task rests four times as long as it works") {
  base::Heartbeat heartbeat;
  base::StopSignal stop;
  maintenance::Turn turn{heartbeat, stop};
  const auto began = maintenance::Turn::Clock::now();
  turn.begin(began + 1min);
  int batches = 0;
  turn.run_gently([&] {
    std::this_thread::sleep_for(5ms);
    return ++batches < 4;
  });
  CHECK(batches == 4);
  CHECK(maintenance::Turn::Clock::now() - began >= 80ms);  // three rests
  CHECK_FALSE(turn.has_more());
}
