#include "settler/settler.hpp"

#include <catch2/catch_test_macros.hpp>
#include <condition_variable>
#include <deque>

#include "support/wait.hpp"
#include "unit/settler/runs.hpp"

namespace inboxd::settler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using support::eventually;
using test::failed_at;
using test::lease_of;
using test::offsets_from;
using test::one;
using test::RecordingOwner;
using test::run_of;
using Clock = Settler::Clock;

/// The writes of the fake store, and its next answers. Without an answer left, everything is recorded.
struct FakeDatabase {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<inbox::Settlement>> written;
  std::deque<inbox::Answer<std::vector<inbox::LeaseKey>>> answers;
  bool is_blocked = false;  ///< the next write waits for `unblock`

  std::size_t writes() {
    const std::lock_guard lock{mutex};
    return written.size();
  }
  std::vector<inbox::Settlement> write(std::size_t i) {
    const std::lock_guard lock{mutex};
    return written.at(i);
  }
  void unblock() {
    const std::lock_guard lock{mutex};
    is_blocked = false;
    changed.notify_all();
  }
};

class FakeStore final : public Store {
 public:
  explicit FakeStore(FakeDatabase& database) : database_{database} {}
  inbox::Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) override {
    std::unique_lock lock{database_.mutex};
    database_.written.push_back(settlements);
    database_.changed.wait(lock, [&] { return !database_.is_blocked; });
    if (database_.answers.empty()) return std::vector<inbox::LeaseKey>{};
    auto answer = database_.answers.front();
    database_.answers.pop_front();
    return answer;
  }

 private:
  FakeDatabase& database_;
};

inbox::DatabaseFailure fault(inbox::Fault what) { return {what, "", "made up"}; }

struct SettlerFixture {
  explicit SettlerFixture(Settler::Limits limits = quick())
      : settler{std::make_unique<FakeStore>(database), log, limits} {}
  static Settler::Limits quick() {
    Settler::Limits limits;
    limits.backoff.first = milliseconds{1};
    limits.backoff.last = milliseconds{5};
    return limits;
  }
  std::shared_ptr<Run> run(std::size_t events, std::int64_t delivery_id = 1, std::int32_t attempts = 0) {
    return run_of(lease_of(offsets_from(0, events), delivery_id, attempts), {}, owner);
  }

  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  FakeDatabase database;
  std::shared_ptr<RecordingOwner> owner = std::make_shared<RecordingOwner>();
  Settler settler;
};

}  // namespace

TEST_CASE("a finished run is recorded once, and its owner learns of it") {
  SettlerFixture fixture;
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(10), 0, 10, {}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK(fixture.database.writes() == 1);
  CHECK(fixture.database.write(0).at(0).whole);
  CHECK(fixture.owner->all_settled() == RecordingOwner::Settled{{1, 10}});
  CHECK(fixture.settler.counters().done == 10);
}

TEST_CASE("reports of one run that come close together become one settlement") {
  Settler::Limits limits = SettlerFixture::quick();
  limits.hold = seconds{60};
  SettlerFixture fixture{limits};
  const auto run = fixture.run(100);
  fixture.settler.start();
  for (std::size_t i = 0; i < 100; ++i) fixture.settler.report(one({run, 99 - i, 100 - i, {}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK(fixture.database.writes() == 1);
  CHECK(fixture.database.write(0).at(0).done == run->lease.pending);
}

TEST_CASE("a part of a run is recorded alone if the rest takes long") {
  SettlerFixture fixture;
  const auto run = fixture.run(10);
  fixture.settler.start();
  fixture.settler.report(one({run, 0, 4, {failed_at(1)}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK_FALSE(fixture.database.write(0).at(0).whole);
  fixture.settler.report(one({run, 4, 10, {}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK(fixture.database.write(1).at(0).whole);
  CHECK(fixture.owner->all_settled() == RecordingOwner::Settled{{1, 4}, {1, 6}});
  CHECK(fixture.settler.counters().done == 9);
  CHECK(fixture.settler.counters().retried == 1);
}

TEST_CASE("the owner learns when a retry is due") {
  SettlerFixture fixture;
  fixture.settler.start();
  FailedEvent failed = failed_at(0);
  failed.verdict.delay = seconds{30};
  const auto before = Clock::now();
  fixture.settler.report(one({fixture.run(1), 0, 1, {failed}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  const auto retries = fixture.owner->all_retries();
  REQUIRE(retries.size() == 1);
  CHECK(retries[0] >= before + seconds{30});
  CHECK(retries[0] <= Clock::now() + seconds{30});
}

TEST_CASE("settlements are retried until the database records them") {
  SettlerFixture fixture;
  fixture.database.answers = {fault(inbox::Fault::reconnect), fault(inbox::Fault::retry), fault(inbox::Fault::stop)};
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(3), 0, 3, {}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  REQUIRE(fixture.database.writes() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(fixture.database.write(i).at(0).done == fixture.database.write(0).at(0).done);
  CHECK(fixture.settler.counters().done == 3);
}

TEST_CASE("a lost lease is counted and reported to the owner, and the run is not written again") {
  SettlerFixture fixture;
  const auto run = fixture.run(10);
  fixture.database.answers = {std::vector<inbox::LeaseKey>{run->lease.key}};
  fixture.settler.start();
  fixture.settler.report(one({run, 0, 4, {}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK(fixture.owner->all_lost() == std::vector<std::int64_t>{1});
  fixture.settler.report(one({run, 4, 10, {}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK(fixture.database.writes() == 1);
  CHECK(fixture.settler.counters().lost == 1);
  CHECK(fixture.settler.counters().done == 0);
}

TEST_CASE("a settlement recorded by a transaction in doubt does not count as a lost lease") {
  SettlerFixture fixture;
  const auto run = fixture.run(10);
  fixture.database.answers = {fault(inbox::Fault::in_doubt), std::vector<inbox::LeaseKey>{run->lease.key}};
  fixture.settler.start();
  fixture.settler.report(one({run, 0, 10, {}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK(fixture.owner->all_lost().empty());
  CHECK(fixture.owner->all_settled() == RecordingOwner::Settled{{1, 10}});
  CHECK(fixture.settler.counters().lost == 0);
}

// A restart of the server has changed the fence, and the first attempt may have failed.
TEST_CASE("in a sequence, a lease that is lost after a transaction in doubt frees no later event of its key") {
  SettlerFixture fixture;
  auto lease = lease_of(offsets_from(0, 10));
  lease.sequence = 3;
  const auto run = run_of(std::move(lease), {}, fixture.owner);
  fixture.database.answers = {fault(inbox::Fault::in_doubt), std::vector<inbox::LeaseKey>{run->lease.key}};
  fixture.settler.start();
  fixture.settler.report(one({run, 0, 4, {}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK(fixture.owner->all_lost() == std::vector<std::int64_t>{1});
  CHECK(fixture.owner->all_settled().empty());
  CHECK(fixture.settler.counters().lost == 0);
  CHECK(fixture.settler.counters().done == 0);
}

TEST_CASE("a message that the server's encoding cannot hold is written in ASCII") {
  SettlerFixture fixture;
  fixture.database.answers = {fault(inbox::Fault::poison)};
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(1), 0, 1, {failed_at(0, "timeout", "zu sp\xc3\xa4t")}}));
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  REQUIRE(fixture.database.writes() == 2);
  CHECK(fixture.database.write(0).at(0).failures.at(0).message == "zu sp\xc3\xa4t");
  CHECK(fixture.database.write(1).at(0).failures.at(0).message == "zu sp??t");
}

TEST_CASE("one transaction never settles the same delivery under two fences") {
  SettlerFixture fixture;
  fixture.database.is_blocked = true;
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(1, 99), 0, 1, {}}));  // occupies the settler
  REQUIRE(eventually([&] { return fixture.database.writes() == 1; }));
  auto older = lease_of({0}, 5);
  auto newer = lease_of({0}, 5);
  newer.key.fence = 4711;
  fixture.settler.report(one({run_of(std::move(older), {}, fixture.owner), 0, 1, {}}));
  fixture.settler.report(one({run_of(std::move(newer), {}, fixture.owner), 0, 1, {}}));
  fixture.database.unblock();
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  REQUIRE(fixture.database.writes() == 3);
  CHECK(fixture.database.write(1).size() == 1);
  CHECK(fixture.database.write(2).size() == 1);
}

TEST_CASE("runs that finish while a transaction commits share the next transaction, up to the limit") {
  Settler::Limits limits = SettlerFixture::quick();
  limits.deliveries = 50;
  SettlerFixture fixture{limits};
  fixture.database.is_blocked = true;
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(1, 1'000), 0, 1, {}}));
  REQUIRE(eventually([&] { return fixture.database.writes() == 1; }));
  for (std::int64_t id = 1; id <= 70; ++id) fixture.settler.report(one({fixture.run(1, id), 0, 1, {}}));
  fixture.database.unblock();
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  REQUIRE(fixture.database.writes() == 3);
  CHECK(fixture.database.write(1).size() == 50);
  CHECK(fixture.database.write(2).size() == 20);
}

TEST_CASE("a flush holds nothing back") {
  Settler::Limits limits = SettlerFixture::quick();
  limits.hold = seconds{600};
  SettlerFixture fixture{limits};
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(10), 0, 3, {}}));
  CHECK(fixture.settler.flush(Clock::now() + seconds{10}));
  CHECK(fixture.owner->all_settled() == RecordingOwner::Settled{{1, 3}});
}

TEST_CASE("a flush ends at its deadline if the database hangs") {
  SettlerFixture fixture;
  fixture.database.is_blocked = true;
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(10), 0, 3, {}}));
  CHECK_FALSE(fixture.settler.flush(Clock::now() + milliseconds{20}));
  fixture.database.unblock();
}

TEST_CASE("a stop records everything reported before it") {
  Settler::Limits limits = SettlerFixture::quick();
  limits.hold = seconds{600};
  limits.linger = seconds{600};
  SettlerFixture fixture{limits};
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(10, 1), 0, 3, {}}));
  fixture.settler.report(one({fixture.run(10, 2), 0, 10, {}}));
  fixture.settler.request_stop();
  fixture.settler.request_stop();
  fixture.settler.join(Clock::now() + seconds{10});
  CHECK(fixture.settler.idle());
  CHECK(fixture.settler.counters().done == 13);
}

TEST_CASE("a stop without a database gives up at its deadline") {
  SettlerFixture fixture;
  for (int i = 0; i < 100'000; ++i) fixture.database.answers.push_back(fault(inbox::Fault::reconnect));
  fixture.settler.start();
  fixture.settler.report(one({fixture.run(10), 0, 10, {}}));
  fixture.settler.request_stop();
  fixture.settler.join(Clock::now() + milliseconds{30});
  CHECK_FALSE(fixture.settler.idle());
}

TEST_CASE("an idle settler still reports progress") {
  Settler::Limits limits = SettlerFixture::quick();
  limits.turn = milliseconds{5};
  SettlerFixture fixture{limits};
  fixture.settler.start();
  const auto before = fixture.settler.heartbeat().last();
  CHECK(eventually([&] { return fixture.settler.heartbeat().last() > before; }));
}

TEST_CASE("many threads report at once, and every event is recorded once") {
  SettlerFixture fixture;
  fixture.settler.start();
  constexpr std::size_t runs = 200;
  constexpr std::size_t events = 64;
  std::vector<std::shared_ptr<Run>> all;
  for (std::size_t i = 0; i < runs; ++i) all.push_back(fixture.run(events, static_cast<std::int64_t>(i) + 1));
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 4; ++part) {
    threads.emplace_back([&, part] {
      for (const auto& run : all) {
        const std::size_t first = part * events / 4;
        fixture.settler.report(one({run, first, first + events / 4, {failed_at(first)}}));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  REQUIRE(eventually([&] { return fixture.settler.idle(); }));
  CHECK(fixture.settler.counters().done == runs * (events - 4));
  CHECK(fixture.settler.counters().retried == runs * 4);
}

}  // namespace inboxd::settler
