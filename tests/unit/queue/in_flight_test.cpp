#include "queue/in_flight.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "unit/queue/questions.hpp"
#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

using Clock = DueTimes::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::claim;
using test::lease_of;
using test::offsets_from;
using test::question_of;

config::Handler handler(int concurrency, int events_per_call) {
  config::Handler out;
  out.name = "test";
  out.mode = config::Mode::single;
  out.concurrency = concurrency;
  out.events_per_call = events_per_call;
  return out;
}

/// A run keeps its owner alive, and the owner the run.
void lose_all(InFlight& in_flight) {
  const std::atomic<bool> stop{false};
  for (const RunSlice& slice : in_flight.take(stop, {}).slices) in_flight.lost(*slice.run, slice.size());
}

/// The leases that the handler returns, which the database then releases.
std::vector<inbox::LeaseKey> released(InFlight& in_flight) {
  const auto question = question_of<ReleaseLeases>(in_flight, Class::lease);
  if (!question) return {};
  test::answer(in_flight, Class::lease, *question, std::monostate{});
  return question->keys;
}

std::shared_ptr<InFlight> in_flight_of(const config::Handler& settings) {
  return std::make_shared<InFlight>(7, settings, seconds{1}, std::make_shared<Budgets>(10'000, 10'000'000),
                                    std::make_shared<ClaimerSignals>());
}

}  // namespace

TEST_CASE("a run stored during a reload that lengthens the lease is renewed within its own, shorter lease") {
  auto settings = handler(2, 1);
  settings.lease = seconds{5};
  const auto in_flight = in_flight_of(settings);
  const auto now = InFlight::Clock::now();
  REQUIRE(claim(*in_flight, {}));
  const auto room = in_flight->reserve(1, 100);
  REQUIRE(room.events == 1);
  settings.lease *= 60;
  in_flight->configure(settings);
  in_flight->hand_over(lease_of({1}, 41), 1);
  const auto renewal = question_of<RenewLeases>(*in_flight, Class::lease, now + room.lease / 2);
  REQUIRE(renewal);
  CHECK(renewal->keys.size() == 1);
  CHECK(renewal->lease == settings.lease);
  test::answer(*in_flight, Class::lease, *renewal, std::int64_t{1});
  lose_all(*in_flight);
}

TEST_CASE("a handler that now wants payloads gets no events that were claimed without them") {
  auto settings = handler(1, 100);
  const auto in_flight = in_flight_of(settings);
  const auto claim = [&](std::int64_t id, const auto& meanwhile) {
    const auto begun = question_of<Claim>(*in_flight, Class::claim);
    REQUIRE(begun);
    auto lease = lease_of(offsets_from(id * 100, 3), id);
    lease.has_content = begun->request.payloads;
    Claim::Result result;
    result.claimed.runs.push_back(std::move(lease));
    meanwhile();
    test::answer(*in_flight, Class::claim, *begun, std::move(result));
  };
  in_flight->configure(settings, {false, true});
  claim(1, [&] { in_flight->reopen(InFlight::Closed::paused); });
  in_flight->reopen(InFlight::Closed::paused);  // a backlog
  claim(2, [&] {
    in_flight->configure(settings, {});
    CHECK(released(*in_flight) == std::vector<inbox::LeaseKey>{{1, 1'001}});
  });
  CHECK(released(*in_flight) == std::vector<inbox::LeaseKey>{{2, 1'002}});
  CHECK(in_flight->stats().backlog);
  CHECK(in_flight->stats().queued == 0);
  claim(2, [] {});
  CHECK(in_flight->stats().queued == 3);
  lose_all(*in_flight);
}

TEST_CASE("a backlog of retries alone leaves room for fresh events") {
  const int attempts = GENERATE(0, 1);
  CAPTURE(attempts);
  const auto in_flight = in_flight_of(handler(4, 100));
  std::vector<inbox::LeasedRun> runs;
  runs.push_back(lease_of({1}, 41, attempts));
  REQUIRE(claim(*in_flight, std::move(runs), true));
  CHECK(in_flight->reserve(1, 100).events == attempts);
  lose_all(*in_flight);
}

TEST_CASE("calls that run while a handler is closed keep their share of max_in_flight") {
  auto settings = handler(1, 1);
  settings.max_in_flight = 4;
  const auto in_flight = in_flight_of(settings);
  in_flight->configure(settings, {});
  REQUIRE(claim(*in_flight, {}));
  const auto room = in_flight->reserve(1, 100);
  REQUIRE(room.events == 1);
  in_flight->hand_over(lease_of({1}, 41), room.events);
  std::atomic<bool> stop{false};
  InFlight::Taken taken;
  std::thread worker{[&] { taken = in_flight->take(stop, {}); }};
  const auto until = InFlight::Clock::now() + seconds{30};
  while (!in_flight->stats().limited && InFlight::Clock::now() < until) std::this_thread::yield();
  const auto asked = question_of<ShareCalls>(*in_flight, Class::limit);
  REQUIRE(asked);
  test::answer(*in_flight, Class::limit, *asked, 1);
  worker.join();
  REQUIRE(taken.slices.size() == 1);
  in_flight->close(InFlight::Closed::shutdown);
  const auto next = in_flight->next_due(Class::limit, InFlight::Clock::now());
  CHECK(next <= InFlight::Clock::now() + seconds{1});
  const auto renewed = question_of<ShareCalls>(*in_flight, Class::limit, next);
  REQUIRE(renewed);
  CHECK(renewed->calls.held == 1);
  in_flight->lost(*taken.slices[0].run, 1'000);  // a run keeps its owner alive, and the owner the run
}

TEST_CASE("due times close together become one, and none becomes earlier") {
  DueTimes times;
  const Clock::time_point t{seconds{1'000}};
  times.add(t + milliseconds{1});
  times.add(t + milliseconds{2});
  times.add(t + milliseconds{200});
  REQUIRE(times.next());
  CHECK(*times.next() > t + milliseconds{2});
  CHECK(*times.next() <= t + milliseconds{22});
  CHECK_FALSE(times.take_due(t));
  CHECK(times.take_due(t + milliseconds{30}));
  CHECK(*times.next() > t + milliseconds{200});
}

TEST_CASE("due times are bounded, and the nearest are kept") {
  DueTimes times;
  const Clock::time_point t{seconds{1'000}};
  for (int i = 3'000; i > 0; --i) times.add(t + seconds{i});
  CHECK(*times.next() <= t + seconds{1} + DueTimes::together);
  std::size_t left = 0;
  for (; times.next(); ++left) times.take_due(*times.next());
  CHECK(left == DueTimes::limit);
}

}  // namespace inboxd::dispatcher
