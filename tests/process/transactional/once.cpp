#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>
#include <random>

#include "process/support/application.hpp"
#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

constexpr milliseconds lease{1'000};
constexpr int instances = 3;

/// The bytes of a client's COMMIT: the text and a 0 byte.
const std::string commits{"commit\0", 7};

/// An instance with its own proxy to the database.
struct ProxiedInstance {
  explicit ProxiedInstance(const DaemonFixture& fixture) : proxy{port_of(fixture.config.url)}, config{fixture.config} {
    config.url = url_with_port(fixture.config.url, proxy.port());
  }
  void start() {
    daemon = std::make_unique<DaemonProcess>(config);
    daemon->wait_ready();
  }

  Proxy proxy;
  ConfigText config;
  std::unique_ptr<DaemonProcess> daemon;
};

/// Injects random faults into instances.
class RandomFaults final {
 public:
  RandomFaults(DaemonFixture& fixture, unsigned seed) : random_{seed} {
    for (int i = 0; i < instances; ++i) instances_.push_back(std::make_unique<ProxiedInstance>(fixture));
    for (auto& instance : instances_) instance->start();
  }

  void inject() {
    ProxiedInstance& instance = *instances_[static_cast<std::size_t>(draw(instances))];
    switch (draw(5)) {
      case 0:
        instance.daemon->kill();
        instance.start();
        ++kills;
        break;
      case 1:
        instance.proxy.cut();
        ++cuts;
        break;
      case 2:
        instance.proxy.cut_at(commits, Proxy::Cut::after, 1, draw(3));
        ++commit_cuts;
        break;
      case 3:
        instance.proxy.cut_at(commits, Proxy::Cut::before, 1, draw(3));
        ++commit_cuts;
        break;
      default:
        instance.daemon->process().signal(SIGSTOP);
        // Longer than the lease: another instance takes over its events in flight.
        std::this_thread::sleep_for(lease + milliseconds{300 + draw(700)});
        instance.daemon->process().signal(SIGCONT);
        ++stops;
    }
  }
  int commits_cut() const {
    int sum = 0;
    for (const auto& instance : instances_) sum += instance->proxy.cuts();
    return sum;
  }
  int draw(int below) { return std::uniform_int_distribution<int>{0, below - 1}(random_); }

  int kills = 0, cuts = 0, commit_cuts = 0, stops = 0;

 private:
  std::mt19937 random_;
  std::vector<std::unique_ptr<ProxiedInstance>> instances_;
};

/// A slow handler, so that faults hit its transactions.
constexpr std::string_view insert_slowly =
    "insert into app.applied (event_id, n) select event_id, (body->>'n')::bigint from events "
    "where (select pg_sleep(0.01)) is not null";

}  // namespace

// fault: worker killed in a handler
// fault: zombie finishes after its lease
TEST_CASE(
    "three instances that are killed, stopped past their lease and cut off, also at COMMIT, write each row once") {
  DaemonFixture fixture{6};
  Application app{fixture.database};
  app.create_table();
  app.run("create table app.single (event_id uuid not null, n bigint)");
  const auto keys = [](const std::string& more) {
    return std::vector<std::string>{"concurrency: 2", "lease: " + std::to_string(lease.count()) + "ms",
                                    "retry: {base: 50ms, cap: 200ms}", more};
  };
  fixture.config.handlers = {
      app.statement("set", insert_slowly, keys("events_per_call: 100")),
      app.statement("single", "insert into app.single select event_id, (body->>'n')::bigint from events",
                    keys("group: 20"))};
  fixture.migrate();
  RandomFaults faults{fixture, Catch::getSeed()};
  const std::int64_t events = 100'000;
  {
    BackgroundProducer producer{fixture, 3'000};
    while (producer.produced() < events) {
      faults.inject();
      producer.wait_for_more(events / 100);
    }
    producer.finish();
  }
  const EventCounts set = fixture.wait_done("set", milliseconds{240'000});
  const EventCounts single = fixture.wait_done("single", milliseconds{240'000});
  WARN(faults.kills << " kills, " << faults.stops << " stops, " << faults.cuts << " cuts, " << faults.commits_cut()
                    << " of them at COMMIT; set: " << set.text() << "; single: " << single.text());
  CHECK(set.is_perfect());
  CHECK(single.is_perfect());
  CHECK(app.applied() == set.produced);
  CHECK(app.applied_events() == set.produced);
  CHECK(app.number("select count(*) from app.single") == set.produced);
  CHECK(app.number("select count(distinct event_id) from app.single") == set.produced);
  CHECK(fixture.database.number("select count(*) from inbox.dead_letters") == 0);
  CHECK(fixture.offsets_ahead() == 0);
}

TEST_CASE("if COMMIT or its answer is lost, the row is written once") {
  for (const auto when : {Proxy::Cut::after, Proxy::Cut::before}) {
    DaemonFixture fixture{1};
    Application app{fixture.database};
    app.create_table();
    fixture.config.handlers = {app.statement("set", insert_each, {"events_per_call: 100"})};
    fixture.migrate();
    ProxiedInstance instance{fixture};
    instance.start();
    instance.proxy.cut_at(commits, when, 3);
    for (int round = 0; round < 6; ++round) {
      fixture.produce(50);
      app.wait_for("they are applied",
                   "select (count(*) >= " + std::to_string(50 * (round + 1)) + ")::int from app.applied", 1);
    }
    CHECK(fixture.wait_done("set").is_perfect());
    CHECK(app.applied() == 300);
    CHECK(app.applied_events() == 300);
    CHECK(instance.proxy.cuts() == 3);
    CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);  // a network error charges no event
  }
}

// fault: zombie finishes after its lease
TEST_CASE("a zombie's insert is rolled back") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  app.run("create table app.gate (open boolean)");
  app.run(
      "create function app.passes() returns boolean language plpgsql as $$ begin "
      "perform pg_advisory_xact_lock('app.gate'::regclass::oid::bigint); "
      "while not exists (select from app.gate) loop perform pg_sleep(0.02); end loop; return true; end $$");
  const std::vector<std::string> keys{"lease: 1s", "deadline: 60s", "events_per_call: 10", "concurrency: 1"};
  fixture.config.handlers = {app.statement("set", std::string{insert_each} + " where app.passes()", keys)};
  const auto zombie = fixture.start();
  fixture.produce(10);
  app.wait_for(
      "its statement runs",
      "select count(*) from pg_locks where locktype = 'advisory' and objid = 'app.gate'::regclass::oid", 1);
  zombie->process().signal(SIGSTOP);

  fixture.config.handlers = {app.statement("set", insert_each, keys)};
  const auto other = fixture.start();
  CHECK(fixture.wait_done("set").is_perfect());
  CHECK(app.applied() == 10);

  app.run("insert into app.gate values (true)");  // its insert continues in the server
  zombie->process().signal(SIGCONT);
  zombie->wait_log("kind=dispatcher.leases_lost");
  fixture.produce(10);
  CHECK(fixture.wait_done("set").is_perfect());
  CHECK(app.applied() == 20);
  CHECK(app.applied_events() == 20);
  CHECK(zombie->stop() == ExitStatus{0, 0});
}
