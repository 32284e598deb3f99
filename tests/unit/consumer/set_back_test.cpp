#include "consumer/set_back.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using inboxd::consumer::SetBack;
using Verdict = SetBack::Verdict;

namespace {

const SetBack::Clock::time_point start{1h};

}  // namespace

TEST_CASE("a database that says the newest that is known of handlers takes what comes") {
  SetBack set_back;
  CHECK(set_back.judge({7, 7, true}, start) == Verdict::known);
  CHECK(set_back.judge({8, 7, true}, start) == Verdict::known);
}

TEST_CASE("a database that has forgotten what this process has registered takes nothing, however long that is") {
  SetBack set_back;
  CHECK(set_back.judge({9, 9, false}, start) == Verdict::behind);
  CHECK(set_back.judge({9, 9, false}, start + 24h) == Verdict::behind);
  CHECK(set_back.judge({10, 9, true}, start + 24h) == Verdict::known);
}

TEST_CASE("a database that has forgotten what others have registered takes nothing for ten seconds") {
  SetBack set_back;
  CHECK(set_back.judge({5, 7, true}, start) == Verdict::behind);
  CHECK(set_back.judge({5, 7, true}, start + 9'999ms) == Verdict::behind);
  SECTION("and they put it back") { CHECK(set_back.judge({8, 7, true}, start + 9'999ms) == Verdict::known); }
  SECTION("and then it does, until it was set back once more") {
    CHECK(set_back.judge({5, 7, true}, start + 10s) == Verdict::not_put_back);
    CHECK(set_back.judge({5, 7, true}, start + 11s) == Verdict::known);
    CHECK(set_back.judge({5, 7, false}, start + 12s) == Verdict::behind);
    CHECK(set_back.judge({4, 7, true}, start + 13s) == Verdict::behind);
    CHECK(set_back.judge({4, 7, true}, start + 22s) == Verdict::not_put_back);
  }
  SECTION("counted anew each time") {
    CHECK(set_back.judge({7, 7, true}, start + 5s) == Verdict::known);
    CHECK(set_back.judge({6, 7, true}, start + 12s) == Verdict::behind);
  }
}
