#include <catch2/catch_test_macros.hpp>
#include <future>
#include <thread>

#include "unit/queue/questions.hpp"
#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace test;
using Turn = inbox::WindowTurn;
using Read = inbox::SequenceRead::State;
using Clock = InFlight::Clock;
using std::chrono::seconds;

/// A batch handler of five events per call that owns its sequence, just after the close of its window.
struct ClosedWindow {
  explicit ClosedWindow(config::GroupBy group_by = config::GroupBy::none, std::int64_t max_events = 10'000) {
    config::Handler settings;
    settings.name = "test";
    settings.mode = config::Mode::batch;
    settings.batch.every = seconds{10};
    settings.batch.group_by = group_by;
    settings.concurrency = settings.group = 1;
    settings.events_per_call = 5;
    in_flight = test::in_flight_of(settings, max_events);
    in_flight->configure(settings);
    auto take = asked<TakeSequences>();
    REQUIRE(take);
    take->fence = 17;
    in_flight->answer(*take, std::vector{inbox::whole_handler}, {Clock::now(), Clock::now()});
    const auto turn = asked<TurnWindow>();
    REQUIRE(turn);
    CHECK(turn->plan.fence == 17);
    test::answer(*in_flight, Class::claim, *turn, Turn{Turn::State::closed, 10'000'000, 10'000'000, 10'000'000, 100});
  }
  ~ClosedWindow() {
    // A run keeps its owner alive, and the owner the run.
    for (const auto& run : runs) in_flight->lost(*run, static_cast<std::int64_t>(run->size()));
  }

  template <class Question>
  std::optional<Question> asked(Class of = Class::claim, seconds after = {}) {
    return question_of<Question>(*in_flight, of, Clock::now() + after);
  }
  /// Claims runs of these sizes.
  std::optional<WindowEnd> claim(std::vector<std::size_t> sizes, Read state, std::int64_t group = 0,
                                 std::int32_t claims = 1) {
    const auto asked = now_ += seconds{2};  // after the handler's poll
    const auto begun = question_of<ClaimInOrder>(*in_flight, Class::claim, asked);
    REQUIRE(begun);
    REQUIRE(begun->request.window);
    room = begun->request.claim.events;
    inbox::ClaimedInOrder out;
    for (const std::size_t size : sizes) {
      auto lease = test::lease_of(test::offsets_from(next_ * 100, size), next_);
      lease.sequence = inbox::whole_handler;
      lease.ordinal = next_++;
      lease.group = group;
      lease.claims = claims;
      out.claimed.runs.push_back(std::move(lease));
    }
    out.sequences.push_back({inbox::whole_handler, state});
    return test::answer(*in_flight, Class::claim, *begun, std::move(out), asked);
  }
  /// The number of events of the next call.
  std::int64_t take() {
    const std::atomic<bool> stop{false};
    std::int64_t out = 0;
    for (const RunSlice& slice : in_flight->take(stop, {}).slices) {
      out += slice.size();
      runs.push_back(slice.run);
    }
    return out;
  }

  std::shared_ptr<InFlight> in_flight;
  std::vector<std::shared_ptr<settler::Run>> runs;
  std::int64_t room = 0;

 private:
  std::int64_t next_ = 1;
  Clock::time_point now_ = Clock::now();
};

}  // namespace

TEST_CASE("a call waits for further events of its window, until it is full; the last one has what is left") {
  ClosedWindow window;
  window.claim({3}, Read::more);
  auto taken = std::async(std::launch::async, [&] { return window.take(); });
  window.claim({4}, Read::end);
  CHECK(taken.get() == 5);
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
  for (const int events : {3, 5, 2}) CHECK(window.take() == events);
}

TEST_CASE("a suspect call waits for no more events, and nothing is claimed beside it") {
  ClosedWindow window;
  window.claim({2}, Read::more, 0, inbox::suspected_after + 1);
  CHECK_FALSE(window.asked<ClaimInOrder>(Class::claim, seconds{9}));
  CHECK(window.take() == 2);
}

TEST_CASE("nothing is claimed while events wait for the close, and the end of a window is told once") {
  ClosedWindow window;
  const auto end = window.claim({}, Read::ended);
  REQUIRE(end);
  CHECK(end->events == 100);
  CHECK(window.asked<TurnWindow>());
  CHECK_FALSE(window.asked<ClaimInOrder>(Class::claim, seconds{60}));
}

TEST_CASE("a batch handler gets no events from ingest in memory") {
  ClosedWindow window;
  CHECK_FALSE(window.in_flight->lock()->reserve_in_order({3, 0, 100, 110}, 10, 1'000, Clock::now()).is_open);
}

}  // namespace inboxd::dispatcher
