#include "consumer/set_back.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using inboxd::consumer::SetBack;
using Verdict = SetBack::Verdict;

namespace {

const SetBack::Clock::time_point start{1h};

}  // namespace

TEST_CASE("a database that knows all that is known of handlers takes what comes") {
  SetBack set_back{30s};
  CHECK(set_back.judge({true, true}, start) == Verdict::known);
}

TEST_CASE("a database that has forgotten what this process has registered takes nothing, however long that is") {
  SetBack set_back{30s};
  const bool others = GENERATE(true, false);
  for (auto now = start; now < start + 10min; now += 1s) {
    REQUIRE(set_back.judge({false, others}, now) == Verdict::behind);
  }
  CHECK(set_back.judge({true, true}, start + 10min) == Verdict::known);
}

TEST_CASE("a database that has forgotten what others have registered takes nothing for half a minute") {
  SetBack set_back{30s};
  CHECK(set_back.judge({true, false}, start) == Verdict::behind);
  CHECK(set_back.judge({true, false}, start + 29'999ms) == Verdict::behind);
  SECTION("and they put it back") { CHECK(set_back.judge({true, true}, start + 29'999ms) == Verdict::known); }
  SECTION("and then it does") { CHECK(set_back.judge({true, false}, start + 30s) == Verdict::not_put_back); }
  SECTION("counted anew where it had forgotten ours, too") {
    CHECK(set_back.judge({false, false}, start + 40s) == Verdict::behind);
    CHECK(set_back.judge({true, false}, start + 69s) == Verdict::behind);  // they are as late as we were
    CHECK(set_back.judge({true, false}, start + 70s) == Verdict::not_put_back);
  }
  SECTION("counted anew each time") {
    CHECK(set_back.judge({true, true}, start + 5s) == Verdict::known);
    CHECK(set_back.judge({true, false}, start + 35s) == Verdict::behind);
    CHECK(set_back.judge({true, false}, start + 64s) == Verdict::behind);
    CHECK(set_back.judge({true, false}, start + 65s) == Verdict::not_put_back);
  }
  SECTION("counted anew where the batch was given up meanwhile") {
    CHECK(set_back.judge({true, false}, start + 2h) == Verdict::behind);
    CHECK(set_back.judge({true, false}, start + 2h + 29s) == Verdict::behind);
  }
}

TEST_CASE("others are waited for as long as two of their questions may take, but for some minutes at most") {
  CHECK(inboxd::consumer::wait_for_others(5s) == 30s);
  CHECK(inboxd::consumer::wait_for_others(40s) == 80s);
  CHECK(inboxd::consumer::wait_for_others(1h) == 5min);
}
