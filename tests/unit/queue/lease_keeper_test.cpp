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

  /// The next question, of that type.
  template <class Question>
  Question next() {
    const auto request = keeper.next(leases, start);
    REQUIRE(request);
    REQUIRE(std::holds_alternative<Question>(*request));
    return std::get<Question>(*request);
  }
  bool ends_visit() { return !keeper.next(leases, start); }
  template <class Question>
  void answer(const Question& question, typename Question::Result result = {}) {
    keeper.answered(leases, question, result, {start, start});
  }
  void add(std::int64_t id) { queue.add(test::run_of(test::lease_of({id}, id)), 100, start + seconds{5}); }
};

}  // namespace

TEST_CASE("leases that were not all renewed are renewed in halves") {
  Keeper it;
  for (std::int64_t id = 1; id <= 4; ++id) it.add(id);
  for (const auto& [asked, renewed] : {std::pair{4, 3}, {2, 2}, {2, 0}}) {
    const auto question = it.next<RenewLeases>();
    CHECK(question.keys.size() == static_cast<std::size_t>(asked));
    it.answer(question, renewed);
  }
  CHECK(it.ends_visit());
  CHECK(it.queue.leases_ending_before(start + seconds{20}).size() == 2);
}

TEST_CASE("a refused renewal holds up no release, and is asked for again in the next visit") {
  Keeper it;
  it.add(1);
  it.keeper.release({{2, 1}});
  it.keeper.failed(it.next<RenewLeases>(), refused);
  const auto release = it.next<ReleaseLeases>();
  CHECK(release.keys == std::vector<inbox::LeaseKey>{{2, 1}});
  it.answer(release);
  CHECK(it.ends_visit());
  it.next<RenewLeases>();
}

TEST_CASE("leases are released until the database has answered, and only then their sequence") {
  Keeper it;
  it.sequences.took({3}, 17, start + seconds{30});
  it.sequences.drain(3);
  it.keeper.release({{2, 1}});
  it.keeper.failed(it.next<ReleaseLeases>(), refused);
  CHECK_FALSE(it.keeper.holds_only_memory());
  CHECK(it.keeper.next_due(it.leases) <= start);
  while (const auto request = it.keeper.next(it.leases, start)) {
    CHECK_FALSE(std::holds_alternative<ReleaseSequences>(*request));
  }
  it.answer(it.next<ReleaseLeases>());
  CHECK(it.keeper.holds_only_memory());
  CHECK(it.next<ReleaseSequences>().keys == std::vector<inbox::SequenceKey>{{3, 17}});
}

}  // namespace inboxd::dispatcher
