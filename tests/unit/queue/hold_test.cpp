// Pauses for all instances, and the fuse.
#include "queue/hold.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {

using State = Hold::State;
using Kind = inbox::HoldNews::Kind;

TEST_CASE("failures in a row blow the fuse, a success in between does not let them") {
  Hold hold;
  hold.configure(3);
  hold.called(0, 2, "a");
  hold.called(1, 1, "a");
  hold.called(0, 2, "b");
  CHECK(hold.state() == State::open);
  hold.called(0, 1, "c");
  CHECK(hold.state() == State::held);
  REQUIRE(hold.news());
  CHECK(hold.news()->kind == Kind::blown);
  CHECK(hold.news()->reason == "3 failures in a row, the last: c");
}

TEST_CASE("without a fuse failures pause nothing") {
  Hold hold;
  hold.called(0, 1'000, "a");
  CHECK(hold.state() == State::open);
}

TEST_CASE("what the database says counts once it has the news") {
  Hold hold;
  hold.configure(1);
  hold.called(0, 1, "a");
  hold.read(State::open);
  CHECK(hold.state() == State::held);
  hold.written(*hold.news());
  hold.read(State::held);
  CHECK(hold.state() == State::held);
  hold.read(State::open);
  CHECK(hold.state() == State::open);
}

TEST_CASE("news that comes while the database gets other news is not lost") {
  Hold hold;
  hold.configure(1);
  hold.read(State::trial);
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

TEST_CASE("on trial, the first outcome decides") {
  for (const bool works : {false, true}) {
    Hold hold;
    hold.configure(1'000);
    hold.read(State::trial);
    hold.take_trial();
    CHECK(hold.is_tried());
    hold.recorded(works ? 1 : 0, works ? 0 : 1, "a");
    CHECK(hold.state() == (works ? State::open : State::held));
    CHECK(hold.news()->kind == (works ? Kind::closed : Kind::blown));
  }
}

TEST_CASE("an event on trial that is deferred decides nothing, and another one is tried") {
  Hold hold;
  hold.read(State::trial);
  hold.take_trial();
  hold.recorded(0, 0, "");
  CHECK(hold.state() == State::trial);
  CHECK_FALSE(hold.is_tried());
}

TEST_CASE("calls from before the pause do not decide a trial") {
  Hold hold;
  hold.read(State::trial);
  hold.recorded(5, 0, "");
  CHECK(hold.state() == State::trial);
}

TEST_CASE("an event that comes back without an outcome can be tried again") {
  Hold hold;
  hold.read(State::trial);
  hold.take_trial();
  hold.put_back();
  CHECK_FALSE(hold.is_tried());
  hold.read(State::trial);
  CHECK(hold.state() == State::trial);
}

}  // namespace inboxd::dispatcher
