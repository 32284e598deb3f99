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
using test::RememberingHolder;
using test::run_of;
using Clock = Settler::Clock;

/// Remembers what was written; answers as told, then with "all recorded".
struct Book {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<inbox::Settlement>> written;
  std::deque<Answer<std::vector<inbox::LeaseKey>>> answers;
  bool closed = false;                         ///< the next write waits until it is opened

  std::size_t writes() {
    const std::lock_guard lock{mutex};
    return written.size();
  }
  std::vector<inbox::Settlement> write(std::size_t i) {
    const std::lock_guard lock{mutex};
    return written.at(i);
  }
  void open() {
    const std::lock_guard lock{mutex};
    closed = false;
    changed.notify_all();
  }
};

class BookStore final : public Store {
 public:
  explicit BookStore(Book& book) : book_{book} {}
  Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) override {
    std::unique_lock lock{book_.mutex};
    book_.written.push_back(settlements);
    book_.changed.wait(lock, [&] { return !book_.closed; });
    if (book_.answers.empty()) return std::vector<inbox::LeaseKey>{};
    auto answer = book_.answers.front();
    book_.answers.pop_front();
    return answer;
  }

 private:
  Book& book_;
};

inbox::DatabaseFailure fault(inbox::Fault what) { return {what, "", "made up"}; }

struct Bench {
  explicit Bench(Settler::Limits limits = quick()) : settler{std::make_unique<BookStore>(book), log, limits} {}
  static Settler::Limits quick() {
    Settler::Limits limits;
    limits.trouble.first = milliseconds{1};
    limits.trouble.last = milliseconds{5};
    return limits;
  }
  std::shared_ptr<Run> run(std::size_t events, std::int64_t delivery_id = 1, std::int32_t attempts = 0) {
    return run_of(lease_of(offsets_from(0, events), delivery_id, attempts), {}, holder);
  }

  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  Book book;
  std::shared_ptr<RememberingHolder> holder = std::make_shared<RememberingHolder>();
  Settler settler;
};

}  // namespace

TEST_CASE("a finished run is recorded once and its holder is told") {
  Bench bench;
  bench.settler.start();
  bench.settler.report(one({bench.run(10), 0, 10, {}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  CHECK(bench.book.writes() == 1);
  CHECK(bench.book.write(0).at(0).whole);
  CHECK(bench.holder->all_settled() == RememberingHolder::Settled{{1, 10}});
  CHECK(bench.settler.counters().done == 10);
}

TEST_CASE("parts of a run that come close together are one settlement") {
  Settler::Limits limits = Bench::quick();
  limits.hold = seconds{60};
  Bench bench{limits};
  const auto run = bench.run(100);
  bench.settler.start();
  for (std::size_t i = 0; i < 100; ++i) bench.settler.report(one({run, 99 - i, 100 - i, {}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  CHECK(bench.book.writes() == 1);
  CHECK(bench.book.write(0).at(0).done == run->lease.pending);
}

TEST_CASE("a part of a run whose rest takes long is recorded by itself") {
  Bench bench;
  const auto run = bench.run(10);
  bench.settler.start();
  bench.settler.report(one({run, 0, 4, {failed_at(1)}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  CHECK_FALSE(bench.book.write(0).at(0).whole);
  bench.settler.report(one({run, 4, 10, {}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  CHECK(bench.book.write(1).at(0).whole);
  CHECK(bench.holder->all_settled() == RememberingHolder::Settled{{1, 4}, {1, 6}});
  CHECK(bench.settler.counters().done == 9);
  CHECK(bench.settler.counters().retried == 1);
}

TEST_CASE("the holder learns when a retry comes due") {
  Bench bench;
  bench.settler.start();
  settler::Failed failed = failed_at(0);
  failed.verdict.delay = seconds{30};
  const auto before = Clock::now();
  bench.settler.report(one({bench.run(1), 0, 1, {failed}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  const auto retries = bench.holder->all_retries();
  REQUIRE(retries.size() == 1);
  CHECK(retries[0] >= before + seconds{30});
  CHECK(retries[0] <= Clock::now() + seconds{30});
}

TEST_CASE("the same settlements are written again until the database takes them") {
  Bench bench;
  bench.book.answers = {fault(inbox::Fault::reconnect), fault(inbox::Fault::retry), fault(inbox::Fault::stop)};
  bench.settler.start();
  bench.settler.report(one({bench.run(3), 0, 3, {}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  REQUIRE(bench.book.writes() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(bench.book.write(i).at(0).done == bench.book.write(0).at(0).done);
  CHECK(bench.settler.counters().done == 3);
}

TEST_CASE("a lost lease is counted, told, and nothing more of that run is written") {
  Bench bench;
  const auto run = bench.run(10);
  bench.book.answers = {std::vector<inbox::LeaseKey>{run->lease.key}};
  bench.settler.start();
  bench.settler.report(one({run, 0, 4, {}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  CHECK(bench.holder->all_lost() == std::vector<std::int64_t>{1});
  bench.settler.report(one({run, 4, 10, {}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  CHECK(bench.book.writes() == 1);
  CHECK(bench.settler.counters().lost == 1);
  CHECK(bench.settler.counters().done == 0);
}

TEST_CASE("what a try in doubt had recorded is not taken for lost") {
  Bench bench;
  const auto run = bench.run(10);
  bench.book.answers = {fault(inbox::Fault::in_doubt), std::vector<inbox::LeaseKey>{run->lease.key}};
  bench.settler.start();
  bench.settler.report(one({run, 0, 10, {}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  CHECK(bench.holder->all_lost().empty());
  CHECK(bench.holder->all_settled() == RememberingHolder::Settled{{1, 10}});
  CHECK(bench.settler.counters().lost == 0);
}

TEST_CASE("a message that the server's encoding lacks is written in plain letters") {
  Bench bench;
  bench.book.answers = {fault(inbox::Fault::poison)};
  bench.settler.start();
  bench.settler.report(one({bench.run(1), 0, 1, {failed_at(0, "timeout", "zu sp\xc3\xa4t")}}));
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  REQUIRE(bench.book.writes() == 2);
  CHECK(bench.book.write(0).at(0).failures.at(0).message == "zu sp\xc3\xa4t");
  CHECK(bench.book.write(1).at(0).failures.at(0).message == "zu sp??t");
}

TEST_CASE("one transaction never has the same delivery under two fences") {
  Bench bench;
  bench.book.closed = true;
  bench.settler.start();
  bench.settler.report(one({bench.run(1, 99), 0, 1, {}}));  // keeps the settler busy
  REQUIRE(eventually([&] { return bench.book.writes() == 1; }));
  auto older = lease_of({0}, 5);
  auto newer = lease_of({0}, 5);
  newer.key.fence = 4711;
  bench.settler.report(one({run_of(std::move(older), {}, bench.holder), 0, 1, {}}));
  bench.settler.report(one({run_of(std::move(newer), {}, bench.holder), 0, 1, {}}));
  bench.book.open();
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  REQUIRE(bench.book.writes() == 3);
  CHECK(bench.book.write(1).size() == 1);
  CHECK(bench.book.write(2).size() == 1);
}

TEST_CASE("runs that finish while a transaction commits share the next one, up to the limit") {
  Settler::Limits limits = Bench::quick();
  limits.deliveries = 50;
  Bench bench{limits};
  bench.book.closed = true;
  bench.settler.start();
  bench.settler.report(one({bench.run(1, 1'000), 0, 1, {}}));
  REQUIRE(eventually([&] { return bench.book.writes() == 1; }));
  for (std::int64_t id = 1; id <= 70; ++id) bench.settler.report(one({bench.run(1, id), 0, 1, {}}));
  bench.book.open();
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  REQUIRE(bench.book.writes() == 3);
  CHECK(bench.book.write(1).size() == 50);
  CHECK(bench.book.write(2).size() == 20);
}

TEST_CASE("a flush holds nothing back") {
  Settler::Limits limits = Bench::quick();
  limits.hold = seconds{600};
  Bench bench{limits};
  bench.settler.start();
  bench.settler.report(one({bench.run(10), 0, 3, {}}));
  CHECK(bench.settler.flush(Clock::now() + seconds{10}));
  CHECK(bench.holder->all_settled() == RememberingHolder::Settled{{1, 3}});
}

TEST_CASE("a flush that the database does not allow ends at its deadline") {
  Bench bench;
  bench.book.closed = true;
  bench.settler.start();
  bench.settler.report(one({bench.run(10), 0, 3, {}}));
  CHECK_FALSE(bench.settler.flush(Clock::now() + milliseconds{20}));
  bench.book.open();
}

TEST_CASE("a stop records everything that was reported before") {
  Settler::Limits limits = Bench::quick();
  limits.hold = seconds{600};
  limits.linger = seconds{600};
  Bench bench{limits};
  bench.settler.start();
  bench.settler.report(one({bench.run(10, 1), 0, 3, {}}));
  bench.settler.report(one({bench.run(10, 2), 0, 10, {}}));
  bench.settler.request_stop();
  bench.settler.request_stop();
  bench.settler.join(Clock::now() + seconds{10});
  CHECK(bench.settler.idle());
  CHECK(bench.settler.counters().done == 13);
}

TEST_CASE("a stop without a database gives up at its deadline") {
  Bench bench;
  for (int i = 0; i < 100'000; ++i) bench.book.answers.push_back(fault(inbox::Fault::reconnect));
  bench.settler.start();
  bench.settler.report(one({bench.run(10), 0, 10, {}}));
  bench.settler.request_stop();
  bench.settler.join(Clock::now() + milliseconds{30});
  CHECK_FALSE(bench.settler.idle());
}

TEST_CASE("the settler shows that it moves while it has nothing to do") {
  Settler::Limits limits = Bench::quick();
  limits.turn = milliseconds{5};
  Bench bench{limits};
  bench.settler.start();
  const auto before = bench.settler.last_progress();
  CHECK(eventually([&] { return bench.settler.last_progress() > before; }));
}

TEST_CASE("many threads report at once and every event is recorded once") {
  Bench bench;
  bench.settler.start();
  constexpr std::size_t runs = 200;
  constexpr std::size_t events = 64;
  std::vector<std::shared_ptr<Run>> all;
  for (std::size_t i = 0; i < runs; ++i) all.push_back(bench.run(events, static_cast<std::int64_t>(i) + 1));
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 4; ++part) {
    threads.emplace_back([&, part] {
      for (const auto& run : all) {
        const std::size_t first = part * events / 4;
        bench.settler.report(one({run, first, first + events / 4, {failed_at(first)}}));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  REQUIRE(eventually([&] { return bench.settler.idle(); }));
  CHECK(bench.settler.counters().done == runs * (events - 4));
  CHECK(bench.settler.counters().retried == runs * 4);
}

}  // namespace inboxd::settler
