// Whether a handler may have events in memory, and whether a worker may take some.
#include "queue/admission.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {
namespace {

using Closed = Admission::Closed;
using Effect = Admission::Effect;
using State = Admission::State;
using std::chrono::milliseconds;

const Admission::Clock::time_point start = Admission::Clock::time_point{} + std::chrono::hours{1};

Effect read(Admission& admission, Hold::State state) {
  return admission.change_hold([&](Hold& hold) { hold.read(state); });
}

}  // namespace

TEST_CASE("a handler is closed until every reason has ended") {
  Admission admission;
  CHECK(admission.may_take(start).take);
  for (const Closed why : {Closed::paused, Closed::isolation}) CHECK(admission.close(why) == Effect::closed);
  CHECK(admission.reopen(Closed::paused) == Effect::opened);
  CHECK(admission.state() == State::closed);
  CHECK_FALSE(admission.takes());
  CHECK_FALSE(admission.may_take(start).take);
  admission.reopen(Closed::isolation);
  CHECK(admission.state() == State::open);
}

TEST_CASE("a pause for all instances closes a handler that may still try an event") {
  Admission admission;
  CHECK(read(admission, Hold::State::held) == Effect::closed);
  admission.close(Closed::stopped);
  CHECK_FALSE(admission.may_try());
  admission.reopen(Closed::stopped);
  CHECK(admission.may_try());
  CHECK(admission.state() == State::held);
  CHECK(read(admission, Hold::State::held) == Effect::none);
  CHECK(read(admission, Hold::State::open) == Effect::opened);
  CHECK(admission.takes());
}

TEST_CASE("while its service is away, no call begins; the handler keeps its events") {
  Admission admission;
  admission.go_away(start, milliseconds{500}, "refused");
  CHECK(admission.state() == State::away);
  CHECK(admission.takes());
  CHECK_FALSE(admission.may_take(start).take);
  CHECK(admission.review(start + milliseconds{499}, true) == Effect::none);
  CHECK(admission.review(start + milliseconds{500}, true) == Effect::work);
  CHECK(admission.may_take(start + milliseconds{500}).take);
  CHECK(admission.away_since() == start);
  admission.review(start + milliseconds{600}, false);
  CHECK_FALSE(admission.away_since());
}

TEST_CASE("events that wait for tokens ask for them once") {
  config::Handler settings;
  settings.rate = "100/s";
  Admission admission;
  admission.configure(settings);
  const auto may = admission.may_take(start);
  CHECK((!may.take && may.asks));
  CHECK(admission.state() == State::limited);
  CHECK_FALSE(admission.may_take(start).asks);
  const auto request = admission.take_tokens(7, start);
  REQUIRE(request);
  CHECK(admission.answered(std::get<TakeTokens>(*request), inbox::Tokens{10, {}}, {start, start}) == Effect::work);
  CHECK(admission.may_take(start).take);
  CHECK(admission.max_events(start) == 10);
}

}  // namespace inboxd::dispatcher
