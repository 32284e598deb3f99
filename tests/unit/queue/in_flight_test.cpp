#include "queue/in_flight.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "support/wait.hpp"
#include "unit/queue/questions.hpp"
#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace test;
using Clock = DueTimes::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

config::Handler handler(int concurrency, int events_per_call = 1) {
  config::Handler out;
  out.name = "test";
  out.mode = config::Mode::single;
  out.concurrency = concurrency;
  out.events_per_call = events_per_call;
  return out;
}

/// A handler without a backlog.
struct Handler {
  explicit Handler(const config::Handler& settings) : of{in_flight_of(settings)} { of->configure(settings); }
  ~Handler() {
    // A run keeps its owner alive, and the owner the run.
    if (of->stats().queued > 0) take();
    for (const RunSlice& slice : taken) of->lost(*slice.run, slice.size());
  }
  void take() {
    for (RunSlice& slice : of->take(std::atomic<bool>{false}, {}).slices) taken.push_back(std::move(slice));
  }
  InFlight* operator->() const { return of.get(); }
  /// The leases that the handler returns, which the database then releases.
  std::vector<inbox::LeaseKey> released() const {
    const auto question = question_of<ReleaseLeases>(*of, Class::lease);
    if (!question) return {};
    test::answer(*of, Class::lease, *question, std::monostate{});
    return question->keys;
  }

  std::shared_ptr<InFlight> of;
  std::vector<RunSlice> taken;
};

}  // namespace

TEST_CASE("a run stored during a reload that lengthens the lease is renewed within its own, shorter lease") {
  auto settings = handler(2);
  settings.lease = seconds{5};
  const Handler it{settings};
  const auto now = InFlight::Clock::now();
  REQUIRE(claim(*it.of, {}));
  const auto room = it->reserve(1, 100);
  REQUIRE(room.events == 1);
  settings.lease *= 60;
  it->configure(settings);
  it->hand_over(lease_of({1}, 41), 1);
  const auto renewal = question_of<RenewLeases>(*it.of, Class::lease, now + room.lease / 2);
  REQUIRE(renewal);
  CHECK(renewal->keys.size() == 1);
  CHECK(renewal->lease == settings.lease);
  test::answer(*it.of, Class::lease, *renewal, std::int64_t{1});
}

TEST_CASE("a handler that now wants payloads gets no events that were claimed without them") {
  using Keys = std::vector<inbox::LeaseKey>;
  const auto settings = handler(1, 100);
  const Handler it{settings};
  const auto claim = [&](std::int64_t id, const auto& meanwhile) {
    const auto begun = question_of<Claim>(*it.of, Class::claim);
    REQUIRE(begun);
    Claim::Result result;
    result.claimed.runs.push_back(lease_of(offsets_from(id * 100, 3), id));
    result.claimed.runs.back().has_content = begun->request.payloads;
    meanwhile();
    test::answer(*it.of, Class::claim, *begun, std::move(result));
  };
  it->configure(settings, {false, true});
  claim(1, [&] { it->reopen(InFlight::Closed::paused); });
  it->reopen(InFlight::Closed::paused);  // a backlog
  claim(2, [&] {
    it->configure(settings, {});
    CHECK(it.released() == Keys{{1, 1'001}});
  });
  CHECK(it.released() == Keys{{2, 1'002}});
  CHECK(it->stats().backlog);
  CHECK(it->stats().queued == 0);
  claim(2, [] {});
  CHECK(it->stats().queued == 3);
}

TEST_CASE("ingest waits for the memory of a handler that works, has no backlog, and will have room") {
  const Handler it{handler(2)};
  const auto lacks_room = [&](std::int64_t events) { return it->lock()->lacks_room(nullptr, events, 100); };
  const auto most = it->lock()->target();
  CHECK_FALSE(lacks_room(most + 1));  // it may have a backlog
  REQUIRE(claim(*it.of, {}));
  CHECK_FALSE(lacks_room(most));
  CHECK(lacks_room(most + 1));
  REQUIRE(it->reserve(1, 100).events == 1);
  CHECK(lacks_room(most));
  CHECK_FALSE(lacks_room(1'000'000'000));  // it never has that much room
  it->close(InFlight::Closed::paused);
  CHECK_FALSE(lacks_room(most));
  it->reopen(InFlight::Closed::paused);
  CHECK_FALSE(lacks_room(most));  // events were stored meanwhile
}

TEST_CASE("a backlog of retries alone leaves room for fresh events") {
  const int attempts = GENERATE(0, 1);
  const Handler it{handler(4, 100)};
  std::vector<inbox::LeasedRun> runs;
  runs.push_back(lease_of({1}, 41, attempts));
  REQUIRE(claim(*it.of, std::move(runs), true));
  CHECK(it->reserve(1, 100).events == attempts);
}

TEST_CASE("calls that run while a handler is closed keep their share of max_in_flight") {
  auto settings = handler(1);
  settings.max_in_flight = 4;
  Handler it{settings};
  REQUIRE(claim(*it.of, {}));
  REQUIRE(it->reserve(1, 100).events == 1);
  it->hand_over(lease_of({1}, 41), 1);
  std::thread worker{[&] { it.take(); }};
  REQUIRE(support::eventually([&] { return it->stats().limited; }));
  const auto asked = question_of<ShareCalls>(*it.of, Class::limit);
  REQUIRE(asked);
  test::answer(*it.of, Class::limit, *asked, 1);
  worker.join();
  it->close(InFlight::Closed::shutdown);
  const auto next = it->next_due(Class::limit, InFlight::Clock::now());
  CHECK(next <= InFlight::Clock::now() + seconds{1});
  const auto renewed = question_of<ShareCalls>(*it.of, Class::limit, next);
  REQUIRE(renewed);
  CHECK(renewed->calls.held == 1);
}

TEST_CASE("an idle handler looks for due deliveries with others, and claims only if there are some") {
  const Handler it{handler(1)};
  auto now = Clock::now();
  CHECK_FALSE(it.of->lock()->begin_look(now));  // it may have a backlog
  const auto claim = question_of<Claim>(*it.of, Class::claim, now);
  REQUIRE(claim);
  answer(*it.of, Class::claim, *claim, Claim::Result{}, now);
  CHECK_FALSE(it.of->lock()->is_look_due(now));
  now += seconds{1};  // a poll later
  CHECK(it.of->lock()->is_look_due(now));
  CHECK(it.of->lock()->begin_look(now));
  CHECK_FALSE(question_of<Claim>(*it.of, Class::claim, now));
  it.of->lock()->claim_again(now);
  CHECK(question_of<Claim>(*it.of, Class::claim, now));
}

TEST_CASE("due times close together become one, none becomes earlier, and of too many the nearest are kept") {
  DueTimes times;
  const Clock::time_point t{seconds{1'000}};
  for (const int after : {1, 2, 200}) times.add(t + milliseconds{after});
  REQUIRE(times.next());
  CHECK(*times.next() > t + milliseconds{2});
  CHECK(*times.next() <= t + milliseconds{22});
  CHECK_FALSE(times.take_due(t));
  CHECK(times.take_due(t + milliseconds{30}));
  CHECK(*times.next() > t + milliseconds{200});
  for (int i = 3'000; i > 0; --i) times.add(t + seconds{i});
  CHECK(*times.next() <= t + seconds{1} + DueTimes::together);
  std::size_t left = 0;
  for (; times.next(); ++left) times.take_due(*times.next());
  CHECK(left == DueTimes::limit);
}

}  // namespace inboxd::dispatcher
