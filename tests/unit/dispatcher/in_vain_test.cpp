#include "dispatcher/in_vain.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace inboxd::dispatcher {
namespace {

using std::chrono::milliseconds;

/// How often it may be before somebody is charged; 0: so often as it likes.
int until_charged(Why why) {
  InVain tries;
  for (int n = 1; n <= 1'000; ++n) {
    if (tries.note(why)) return n;
  }
  return 0;
}

}  // namespace

TEST_CASE("what a handler may have brought about is charged after some tries, what it cannot, never") {
  CHECK(until_charged(Why::ended) == 31);
  CHECK(until_charged(Why::in_statement) == 3);
  CHECK(until_charged(Why::cut_off) == 10);
  CHECK(until_charged(Why::in_commit) == 5);
  CHECK(until_charged(Why::short_of) == 6);
  CHECK(until_charged(Why::away) == 0);
  CHECK(until_charged(Why::no_event) == 0);
}

TEST_CASE("too little memory is waited for later and later before it is charged") {
  const Why why = GENERATE(Why::short_of, Why::away);
  InVain tries;
  for (const int wait : {100, 200, 400, 800, 1'600}) {
    CHECK_FALSE(tries.note(why));
    CHECK(tries.wait() == milliseconds{wait});
    CHECK(tries.said() == InVain::Said::aloud);
  }
}

TEST_CASE("what others ended runs again at once, and is said in passing") {
  InVain tries;
  tries.note(Why::ended);
  CHECK(tries.wait() == milliseconds{5});
  CHECK(tries.said() == InVain::Said::in_passing);
  tries.note(Why::ended);
  CHECK(tries.wait() == milliseconds{10});
  CHECK(tries.said() == InVain::Said::no);
}

}  // namespace inboxd::dispatcher
