// Several instances, crashes, and transactions that commit late.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <map>
#include <thread>

#include "process/local/local_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;

namespace {

/// Enqueues the events of its keys in transactions, one after the other, until it is stopped.
class Writer final {
 public:
  Writer(Database& database, int number)
      : session_{database.url(), database.schema()}, number_{number}, thread_{[this] { run(); }} {}
  ~Writer() { stop(); }
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  struct Place {
    std::string key;
    int number = 0;  ///< of the key's events
  };
  const std::map<std::string, Place>& places() const { return places_; }  ///< after stop()
  std::size_t count() const { return count_; }

 private:
  void run() {
    std::map<std::string, int> made;
    for (int i = 0; !stopping_; ++i) {
      const std::string key = "k" + std::to_string(number_) + "." + std::to_string(i % 5);
      const auto ids = session_.rows(
          "select inbox.enqueue_batch('signup', null, '{1,2}'::jsonb[], key => array[$1, $1])", {key});
      for (const auto& row : ids) places_[*row[0]] = {key, made[key]++};
      count_ += ids.size();
    }
  }

  Session session_;
  const int number_;
  std::map<std::string, Place> places_;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE("events of a key run in the order of their transactions, while instances are killed and stopped") {
  LocalFixture fixture{{"mode: sequential", "events_per_call: 1"}};
  std::vector<std::unique_ptr<DaemonProcess>> daemons;
  for (int i = 0; i < 3; ++i) daemons.push_back(fixture.start());
  Writer first{fixture.database, 1}, second{fixture.database, 2};
  for (int round = 0; round < (is_long() ? 30 : 4); ++round) {
    const auto before = fixture.recording.count();
    wait_until("events are handled", [&] { return fixture.recording.count() > before + 300; });
    auto& daemon = daemons[static_cast<std::size_t>(round) % daemons.size()];
    round % 2 == 0 ? daemon->kill() : static_cast<void>(daemon->stop());
    daemon = fixture.start();
  }
  first.stop();
  second.stop();
  auto places = first.places();
  places.insert(second.places().begin(), second.places().end());
  fixture.wait_done(static_cast<std::int64_t>(places.size()));
  CHECK(fixture.database.number("select count(*) from inbox.event") == static_cast<std::int64_t>(places.size()));
  CHECK(fixture.database.number("select count(*) from inbox.local_event") == 0);
  std::map<std::string, int> last;
  for (const Recorded& call : fixture.recording.all()) {
    const auto& place = places.at(call.event_id);
    const auto before = last.find(place.key);
    if (before != last.end()) CHECK(place.number >= before->second);  // after a crash the same event again
    last[place.key] = place.number;
  }
  CHECK(fixture.recording.calls_by_event().size() == places.size());
}

TEST_CASE("an event of a transaction that commits late is stored, and before later events of its session") {
  LocalFixture fixture{{"mode: sequential"}};
  const auto daemon = fixture.start();
  Session late{fixture.database.url(), fixture.database.schema()};
  late.run("begin");
  const std::string first = late.text("select inbox.enqueue('signup', 'late', '{}', key => 'k')");
  for (int i = 0; i < 20; ++i) fixture.enqueue("early");
  fixture.database.run("begin; select inbox.enqueue('signup', 'undone', '{}'); rollback");
  fixture.wait_done(20);
  late.run("commit");
  const std::string second = late.text("select inbox.enqueue('signup', 'late', '{}', key => 'k')");
  fixture.wait_done(22);
  const auto all = fixture.recording.all();
  REQUIRE(all.size() == 22);
  CHECK(all[20].event_id == first);
  CHECK(all[21].event_id == second);
}

TEST_CASE("a crash after a batch was stored repeats calls, and stores and enqueues nothing twice") {
  LocalFixture fixture;
  const TempFolder folder;
  ConfigText gated = fixture.config;
  gated.handlers[0].settings["gate"] = folder / "never";
  auto daemon = std::make_unique<DaemonProcess>(gated);
  daemon->wait_ready();
  for (int i = 0; i < 50; ++i) fixture.enqueue();
  fixture.database.wait_for("all are stored", "select count(*) from inbox.event", 50);
  wait_until("the handler was called", [&] { return fixture.recording.count() > 0; });
  daemon->kill();
  const auto next = fixture.start();
  fixture.wait_done(50);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 50);
  CHECK(fixture.database.number("select position from inbox.lag where topic = 'signup'") == 50);
  CHECK(fixture.recording.calls_by_event().size() == 50);
}

TEST_CASE("a suspended instance is replaced, and stores nothing of its own when it wakes up") {
  LocalFixture fixture;
  auto zombie = fixture.start();
  fixture.enqueue();
  fixture.wait_done(1);
  const auto other = fixture.start();
  zombie->process().signal(SIGSTOP);
  for (int i = 0; i < 30; ++i) fixture.enqueue();
  fixture.wait_done(31);
  CHECK(fixture.recording.processes().size() == 2);
  zombie->process().signal(SIGCONT);
  zombie->wait_log("kind=consumer.local_lease_lost");
  for (int i = 0; i < 30; ++i) fixture.enqueue();
  fixture.wait_done(61);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 61);
  const auto calls = fixture.recording.calls_by_event();
  for (const Recorded& one : fixture.recording.all()) {
    if (calls.at(one.event_id) == 1) continue;
    UNSCOPED_INFO(one.event_id << " at " << one.offset << ", attempt " << one.attempt << " by " << one.process_id
                               << " at " << one.monotonic_ms << " ms; suspended was " << zombie->process().id());
  }
  CHECK(fixture.recording.count() == 61);
}
