#include <catch2/catch_test_macros.hpp>
#include <future>
#include <thread>

#include "queue/in_flight.hpp"
#include "unit/queue/questions.hpp"
#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

using Turn = inbox::WindowTurn;
using Read = inbox::SequenceRead::State;
using Clock = InFlight::Clock;
using std::chrono::seconds;
using test::question_of;

/// A batch handler of five events per call that owns its sequence and whose window has just closed.
struct ClosedWindow {
  explicit ClosedWindow(config::GroupBy group_by = config::GroupBy::none, std::int64_t most_events = 10'000) {
    config::Handler settings;
    settings.name = "test";
    settings.mode = config::Mode::batch;
    settings.batch.every = seconds{10};
    settings.batch.group_by = group_by;
    settings.concurrency = settings.group = 1;
    settings.events_per_call = 5;
    in_flight = std::make_shared<InFlight>(7, settings, seconds{1}, std::make_shared<Budgets>(most_events, 10'000'000),
                                           signals);
    in_flight->configure(settings);
    auto take = question_of<TakeSequences>(*in_flight, Class::claim);
    REQUIRE(take);
    take->fence = 17;
    in_flight->answer(*take, std::vector{inbox::whole_handler}, {Clock::now(), Clock::now()});
    const auto turn = question_of<TurnWindow>(*in_flight, Class::claim);
    REQUIRE(turn);
    CHECK(turn->plan.fence == 17);
    test::answer(*in_flight, Class::claim, *turn, Turn{Turn::State::closed, 10'000'000, 10'000'000, 10'000'000, 100});
  }
  ~ClosedWindow() {
    // A run keeps its owner alive, and the owner the run.
    for (const auto& run : runs) in_flight->lost(*run, static_cast<std::int64_t>(run->size()));
  }

  std::optional<WindowEnd> claim(std::vector<std::int64_t> sizes, Read state, std::int64_t group = 0) {
    const auto asked = now_ += seconds{2};  // after the handler's poll
    const auto begun = question_of<ClaimInOrder>(*in_flight, Class::claim, asked);
    REQUIRE(begun);
    REQUIRE(begun->request.window);
    room = begun->request.claim.events;
    inbox::ClaimedInOrder out;
    for (const std::int64_t size : sizes) {
      auto lease = test::lease_of(test::offsets_from(next_ * 100, static_cast<std::size_t>(size)), next_);
      lease.sequence = inbox::whole_handler;
      lease.ordinal = next_++;
      lease.group = group;
      out.claimed.runs.push_back(std::move(lease));
    }
    out.sequences.push_back({inbox::whole_handler, state});
    return test::answer(*in_flight, Class::claim, *begun, std::move(out), asked);
  }

  /// The number of events of the next call; 0: there is none.
  std::int64_t take(bool waits = true) {
    const std::atomic<bool> stop{!waits};
    std::int64_t out = 0;
    for (const RunSlice& slice : in_flight->take(stop, {}).slices) {
      out += slice.size();
      runs.push_back(slice.run);
    }
    return out;
  }

  std::shared_ptr<ClaimerSignals> signals = std::make_shared<ClaimerSignals>();
  std::shared_ptr<InFlight> in_flight;
  std::vector<std::shared_ptr<settler::Run>> runs;
  std::int64_t room = 0;

 private:
  std::int64_t next_ = 1;
  Clock::time_point now_ = Clock::now();
};

}  // namespace

TEST_CASE("a call waits for further events of its window, until it is full") {
  ClosedWindow window;
  window.claim({3}, Read::more);
  auto taken = std::async(std::launch::async, [&] { return window.take(); });
  window.claim({4}, Read::more);
  CHECK(taken.get() == 5);
}

TEST_CASE("the last call of a window has what is left") {
  ClosedWindow window;
  window.claim({3, 4}, Read::end);
  CHECK(window.take() == 5);
  CHECK(window.take() == 2);
}

TEST_CASE("a call goes ahead with fewer events if memory has no room for more") {
  ClosedWindow window{config::GroupBy::none, 1};
  window.claim({4}, Read::more);
  CHECK(window.room == 5);  // one whole call is always allowed
  window.claim({1}, Read::more);
  CHECK(window.take() == 5);
}

TEST_CASE("with group_by: key a call ends with its key") {
  ClosedWindow window{config::GroupBy::key};
  window.claim({2, 1}, Read::more, 1);
  window.claim({7}, Read::end, 2);
  CHECK(window.take() == 3);
  CHECK(window.take() == 5);
  CHECK(window.take() == 2);
}

TEST_CASE("a suspect call waits for no more events, and nothing is claimed beside it") {
  ClosedWindow window;
  const auto asked = Clock::now() + seconds{2};
  const auto claim = question_of<ClaimInOrder>(*window.in_flight, Class::claim, asked);
  REQUIRE(claim);
  inbox::ClaimedInOrder out;
  auto lease = test::lease_of({1, 2}, 1);
  lease.sequence = inbox::whole_handler;
  lease.claims = inbox::suspected_after + 1;
  out.claimed.runs.push_back(std::move(lease));
  out.sequences.push_back({inbox::whole_handler, Read::more});
  test::answer(*window.in_flight, Class::claim, *claim, std::move(out), asked);
  CHECK_FALSE(question_of<ClaimInOrder>(*window.in_flight, Class::claim, asked + seconds{9}));
  CHECK(window.take() == 2);
}

TEST_CASE("nothing is claimed while events wait for the close, and the end of a window is told once") {
  ClosedWindow window;
  const auto end = window.claim({}, Read::ended);
  REQUIRE(end);
  CHECK(end->events == 100);
  CHECK(question_of<TurnWindow>(*window.in_flight, Class::claim));
  CHECK_FALSE(question_of<ClaimInOrder>(*window.in_flight, Class::claim, Clock::now() + seconds{60}));
}

TEST_CASE("leased rows of a window that are not in memory end the ownership after a while") {
  ClosedWindow window;
  for (int i = 0; i < 5; ++i) {
    CHECK_FALSE(question_of<ReleaseSequences>(*window.in_flight, Class::lease));
    window.claim({}, Read::end);
  }
  CHECK(question_of<ReleaseSequences>(*window.in_flight, Class::lease));
}

TEST_CASE("a batch handler gets no events from ingest in memory") {
  ClosedWindow window;
  CHECK_FALSE(window.in_flight->lock()->reserve_in_order({3, 0, 100, 110}, 10, 1'000, InFlight::Clock::now()).is_open);
}

}  // namespace inboxd::dispatcher
