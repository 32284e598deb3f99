// Pauses for all instances, and the fuse.
#include "queue/hold.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {
namespace {

using State = Hold::State;
using Kind = inbox::HoldNews::Kind;

Hold hold_of(int max_failures, State state = State::open) {
  Hold out;
  out.configure(max_failures);
  out.read(state);
  return out;
}

}  // namespace

TEST_CASE("failures in a row blow the fuse, a success in between does not let them, nor is there always a fuse") {
  Hold hold = hold_of(3), without;
  hold.called(0, 2, "a");
  hold.called(1, 1, "a");
  hold.called(0, 2, "b");
  CHECK(hold.state() == State::open);
  hold.called(0, 1, "c");
  CHECK(hold.state() == State::held);
  REQUIRE(hold.news());
  CHECK(hold.news()->kind == Kind::blown);
  CHECK(hold.news()->reason == "3 failures in a row, the last: c");
  without.called(0, 1'000, "a");
  CHECK(without.state() == State::open);
}

TEST_CASE("what the database says counts once it has the news") {
  Hold hold = hold_of(1);
  hold.called(0, 1, "a");
  hold.read(State::open);
  CHECK(hold.state() == State::held);
  hold.written(*hold.news());
  for (const State state : {State::held, State::open}) {
    hold.read(state);
    CHECK(hold.state() == state);
  }
}

TEST_CASE("news that comes while the database gets other news is not lost") {
  Hold hold = hold_of(1, State::trial);
  hold.take_trial();
  hold.recorded(1, 0, "");
  const auto closed = *hold.news();
  hold.called(0, 1, "b");  // before the database has answered
  hold.written(closed);
  REQUIRE(hold.news());
  CHECK(hold.news()->kind == Kind::blown);
  hold.read(State::open);
  CHECK(hold.state() == State::held);
}

TEST_CASE("on trial, the first outcome of its own event decides; without an outcome or deferred, another is tried") {
  Hold hold = hold_of(1'000, State::trial);
  hold.recorded(5, 0, "");  // of calls from before the pause
  CHECK(hold.state() == State::trial);
  for (const bool is_deferred : {false, true}) {
    hold.take_trial();
    CHECK(hold.is_tried());
    is_deferred ? hold.recorded(0, 0, "") : hold.put_back();
    CHECK_FALSE(hold.is_tried());
    CHECK(hold.state() == State::trial);
  }
  hold.take_trial();
  SECTION("done") {
    hold.recorded(1, 0, "");
    CHECK(hold.state() == State::open);
    CHECK(hold.news()->kind == Kind::closed);
  }
  SECTION("failed") {
    hold.recorded(0, 1, "a");
    CHECK(hold.state() == State::held);
    CHECK(hold.news()->kind == Kind::blown);
  }
}

}  // namespace inboxd::dispatcher
