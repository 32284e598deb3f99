#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <memory>
#include <random>
#include <thread>

#include "process/support/keyed_events.hpp"
#include "process/support/order_fixture.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"
#include "support/wait.hpp"

using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

constexpr const char* doomed_key = "doomed";  ///< an event of this key fails always

/// Two or three instances that come and go while keyed events are produced, a single key with 30 % of them.
class Turmoil {
 public:
  Turmoil(OrderFixture& fixture, PrivatePostgres& server, unsigned seed)
      : fixture_{fixture}, server_{server}, random_{seed} {
    start();
    start();
  }

  /// While the newest events are stored and handled. All disturbances come once before any is repeated.
  void disturb() {
    const auto stored = static_cast<std::int64_t>(fixture_.ids().size() - draw(300));
    wait_until("most events are stored",
               [&] { return fixture_.database.number("select count(*) from inbox.event") >= stored; });
    if (deck_.empty()) {
      deck_ = {Kind::added, Kind::killed, Kind::stopped, Kind::paused, Kind::cut, Kind::restarted};
      std::shuffle(deck_.begin(), deck_.end(), random_);
    }
    const Kind kind = deck_.back();
    deck_.pop_back();
    ++counts_[kind];
    switch (kind) {
      case Kind::added:
        if (daemons_.size() < 3) start();
        break;
      case Kind::killed:
        take_one()->kill();
        break;
      case Kind::stopped:
        CHECK(take_one()->stop() == ExitStatus{0, 0});
        break;
      case Kind::paused: {  // past the lease, then it wakes up
        DaemonProcess& daemon = *daemons_[draw(daemons_.size())];
        const auto from = monotonic_ms();
        daemon.process().signal(SIGSTOP);
        std::this_thread::sleep_for(3s);
        fixture_.events.note_suspended(daemon.process().id(), from, monotonic_ms());
        daemon.process().signal(SIGCONT);
        break;
      }
      case Kind::cut:
        fixture_.database.run(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where application_name like 'inboxd%' and random() < 0.5");
        break;
      case Kind::restarted:
        server_.stop();
        server_.start();
        fixture_.database.wait_for("PostgreSQL answers", "select 1", 1);
    }
    if (daemons_.size() < 2) start();
  }

  void produce(int count, bool with_doomed) {
    fixture_.events.produce(count, [&](int i) {
      if (i % 40 == 20) return KeyedEvents::Made{doomed_key, with_doomed && i == 20 ? "Doomed" : "Happened"};
      const std::string key = draw(10) < 3 ? "hot" : "key" + std::to_string(draw(5'000));
      const std::string type = draw(60) == 0 ? "Fails" + std::to_string(1 + draw(3)) : "Happened";
      return KeyedEvents::Made{key, type};
    });
  }

  std::string text() {
    const auto count = [&](Kind kind, const char* what) { return ", " + std::to_string(counts_[kind]) + " " + what; };
    return std::to_string(fixture_.ids().size()) + " events" + count(Kind::added, "instances added") +
           count(Kind::killed, "killed") + count(Kind::stopped, "stopped") + count(Kind::paused, "paused") +
           count(Kind::cut, "times connections cut") + count(Kind::restarted, "restarts of PostgreSQL");
  }

 private:
  enum class Kind { added, killed, stopped, paused, cut, restarted };

  std::size_t draw(std::size_t below) { return random_() % below; }
  void start() {
    daemons_.push_back(std::make_unique<DaemonProcess>(fixture_.config));
    daemons_.back()->wait_ready();
  }
  std::unique_ptr<DaemonProcess> take_one() {
    const auto at = daemons_.begin() + static_cast<std::ptrdiff_t>(draw(daemons_.size()));
    auto out = std::move(*at);
    daemons_.erase(at);
    return out;
  }

  OrderFixture& fixture_;
  PrivatePostgres& server_;
  std::mt19937 random_;
  std::vector<Kind> deck_;
  std::map<Kind, int> counts_;
  std::vector<std::unique_ptr<DaemonProcess>> daemons_;
};

/// Whether the program and its client library take the newer group protocol.
bool takes_consumer_protocol(const ConfigText& config) {
  ConfigText newer = config;
  newer.kafka["group.protocol"] = "consumer";
  return command(newer, {"check", "--offline"}).status == ExitStatus{0, 0};
}

}  // namespace

// fault: owner of a sequence killed in a call
// fault: owner stopped (SIGSTOP) past its lease, then woken
// fault: rebalance while keys are blocked or parked
TEST_CASE("every key keeps its order while instances, connections and PostgreSQL come and go") {
  const std::string on_failure = GENERATE("block", "park", "skip");
  PrivatePostgres server;
  OrderFixture fixture{
      6,
      {"on_failure: " + on_failure, "retry: {max_attempts: 5, backoff: fixed, base: 200ms, jitter: 0}"},
      server.url()};
  fixture.set("fail_type", "Doomed");
  fixture.set("takes", "2ms");
  if (on_failure == "park") fixture.config.kafka["partition.assignment.strategy"] = "cooperative-sticky";
  if (on_failure == "skip" && takes_consumer_protocol(fixture.config)) {
    fixture.config.kafka["group.protocol"] = "consumer";
  }
  fixture.migrate();
  Turmoil turmoil{fixture, server, Catch::getSeed()};
  const int rounds = is_long() ? 67 : 7;
  int before_doomed = 0;
  for (int round = 0; round < rounds; ++round) {
    const bool is_middle = round == rounds / 2;
    if (is_middle) before_doomed = fixture.events.events_of(doomed_key);
    turmoil.produce(400, is_middle);
    turmoil.disturb();
  }

  const int parked = on_failure == "park" ? fixture.events.events_of(doomed_key) - before_doomed - 1 : 0;
  const auto produced = static_cast<std::int64_t>(fixture.ids().size());
  const auto finished = [&] {
    return fixture.database.number(
        "select (select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome) + "
        "(select count(*) from inbox.dead_letter where state = 'parked')");
  };
  wait_until(
      "all events have an outcome", [&] { return finished() >= produced; }, is_long() ? 600'000ms : 90'000ms,
      [&] { return fixture.counts().text(); });
  const auto counts = fixture.counts();
  const std::string out_of_order = fixture.events.out_of_order("recorder", on_failure == "skip");
  WARN("on_failure: " << on_failure << ", " << rounds << " rounds, " << turmoil.text() << ": " << counts.text() << ", "
                      << parked << " parked; " << (out_of_order.empty() ? "0 out of order" : out_of_order));
  CHECK(counts.lost == 0);
  CHECK(counts.doubled == 0);
  CHECK(counts.done_twice == 0);
  CHECK(counts.pending == 0);
  CHECK(counts.done == produced - 1 - parked);
  CHECK(fixture.database.number("select count(*) from inbox.dead_letter where state = 'parked'") == parked);
  CHECK(fixture.database.text("select event_type from inbox.dead_letter where state = 'dead'") == "Doomed");
  CHECK(out_of_order == "");
}
