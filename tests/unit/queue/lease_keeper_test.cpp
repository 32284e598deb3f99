// A handler's leases in the database: the questions, and the effects of the answers.
#include "queue/lease_keeper.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

using std::chrono::seconds;
using Clock = LeaseKeeper::Clock;

const Clock::time_point start = Clock::time_point{} + std::chrono::hours{1};
const inbox::DatabaseFailure refused{inbox::Fault::stop, "42501", "not allowed"};

struct Keeper {
  RunQueue queue;
  Sequences sequences;
  LeaseKeeper keeper;
  Leases leases{7, seconds{30}, queue, sequences};

  template <class Question>
  std::optional<Question> next(Clock::time_point now) {
    const auto request = keeper.next(leases, now);
    if (!request) return std::nullopt;
    const auto* const question = std::get_if<Question>(&*request);
    REQUIRE(question != nullptr);
    return *question;
  }
  void add(std::int64_t id) {
    auto run = std::make_shared<settler::Run>(test::lease_of({id}, id), nullptr, nullptr, "test");
    queue.add(std::move(run), 100, start + seconds{5});
  }
};

}  // namespace

TEST_CASE("leases that were not all renewed are renewed in halves") {
  Keeper it;
  for (std::int64_t id = 1; id <= 4; ++id) it.add(id);
  auto question = it.next<RenewLeases>(start);
  REQUIRE(question);
  CHECK(question->keys.size() == 4);
  it.keeper.answered(it.leases, *question, 3, {start, start});
  for (int half = 0; half < 2; ++half) {
    question = it.next<RenewLeases>(start);
    REQUIRE(question);
    CHECK(question->keys.size() == 2);
    it.keeper.answered(it.leases, *question, half == 0 ? 2 : 0, {start, start});
  }
  CHECK_FALSE(it.next<RenewLeases>(start));
  CHECK(it.queue.leases_ending_before(start + seconds{20}).size() == 2);
}

TEST_CASE("a refused renewal holds up no release, and is asked for again in the next visit") {
  Keeper it;
  it.add(1);
  it.keeper.release({{2, 1}});
  const auto renewal = it.next<RenewLeases>(start);
  REQUIRE(renewal);
  it.keeper.failed(*renewal, refused);
  const auto release = it.next<ReleaseLeases>(start);
  REQUIRE(release);
  CHECK(release->keys == std::vector<inbox::LeaseKey>{{2, 1}});
  it.keeper.answered(it.leases, *release, std::monostate{}, {start, start});
  CHECK_FALSE(it.next<RenewLeases>(start));
  CHECK(it.next<RenewLeases>(start));
}

TEST_CASE("leases are released until the database has answered") {
  Keeper it;
  it.keeper.release({{2, 1}});
  CHECK_FALSE(it.keeper.holds_only_memory());
  const auto release = it.next<ReleaseLeases>(start);
  REQUIRE(release);
  it.keeper.failed(*release, {inbox::Fault::reconnect, "", "away"});
  CHECK(it.keeper.next_due(it.leases) <= start);
  const auto again = it.next<ReleaseLeases>(start);
  REQUIRE(again);
  it.keeper.answered(it.leases, *again, std::monostate{}, {start, start});
  CHECK(it.keeper.holds_only_memory());
}

TEST_CASE("a sequence is released after the leases of its deliveries") {
  Keeper it;
  it.sequences.took({3}, 17, start + seconds{30});
  it.sequences.drain(3);
  it.keeper.release({{2, 1}});
  const auto release = it.next<ReleaseLeases>(start);
  REQUIRE(release);
  it.keeper.failed(*release, refused);
  while (const auto request = it.keeper.next(it.leases, start)) {
    CHECK_FALSE(std::holds_alternative<ReleaseSequences>(*request));
  }
  const auto again = it.next<ReleaseLeases>(start);
  REQUIRE(again);
  it.keeper.answered(it.leases, *again, std::monostate{}, {start, start});
  const auto drained = it.next<ReleaseSequences>(start);
  REQUIRE(drained);
  CHECK(drained->keys == std::vector<inbox::SequenceKey>{{3, 17}});
}

}  // namespace inboxd::dispatcher
