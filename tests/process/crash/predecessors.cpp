// A process that starts after another was killed: it ends the leases of its predecessor. All leases of these tests last
// longer than the tests wait.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"
#include "support/wait.hpp"

using namespace inboxd::support;

namespace {

constexpr const char* long_lease = "lease: 30m, concurrency: 2, events_per_call: 10, deadline: 20m";
constexpr const char* has_ended_leases = "kind=daemon.predecessor_ended";
constexpr const char* shares_instance_id = ".instance_id_shared";

/// A daemon with calls that wait at a gate; daemons that start later have none.
struct Predecessor {
  explicit Predecessor(DaemonFixture& the_fixture, int events = 40) : fixture{the_fixture} {
    fixture.config.sections["handler_defaults"] = long_lease;
    fixture.set("gate", gate);
    daemon = fixture.start();
    fixture.config.handlers[0].settings.erase("gate");
    fixture.produce(events);
    fixture.wait_stored(events);
    fixture.database.wait_for("events are leased",
                              "select (count(*) > 0)::int from inbox.delivery where owner is not null", 1);
    wait_until("a call runs", [&] { return fixture.recording.count() > 0; });
  }
  /// Its leases of deliveries without a sequence, and of sequences, that last beyond this test.
  std::int64_t leases() {
    return fixture.database.number(
        "select (select count(*) from inbox.delivery d where d.owner = i.instance_id and due_at < 'infinity' and "
        "due_at > clock_timestamp() + interval '10 min') + (select count(*) from inbox.sequence s where "
        "s.owner = i.instance_id and leased_until > clock_timestamp() + interval '10 min') "
        "from inbox.instance i order by started_at limit 1");
  }
  void open_gate() const { write_file(gate, "open"); }

  DaemonFixture& fixture;
  TempFolder folder;
  std::filesystem::path gate = folder / "gate";
  std::unique_ptr<DaemonProcess> daemon;
};

/// From the start of the newest process to its first outcome, by the database's clock.
std::int64_t first_outcome_ms(Database& database) {
  return database.number(
      "select (extract(epoch from min(o.finished_at) - i.started_at) * 1000)::bigint from inbox.outcome o, "
      "(select instance_id, started_at from inbox.instance order by started_at desc limit 1) i "
      "where o.owner = i.instance_id group by i.started_at");
}

}  // namespace

// fault: killed process restarted on its machine
TEST_CASE("a process that starts after a kill handles the events of its predecessor at once") {
  const std::string mode = GENERATE("single", "sequential", "batch");
  CAPTURE(mode);
  DaemonFixture fixture{2};
  fixture.config.handlers[0].more = {"mode: " + mode};
  if (mode == "batch") fixture.config.handlers[0].more.push_back("batch: {every: 1s}");
  Predecessor killed{fixture};
  killed.daemon->kill();
  REQUIRE(killed.leases() > 0);
  const auto successor = fixture.start();
  const auto counts = fixture.wait_done();
  WARN(mode << ": first outcome " << first_outcome_ms(fixture.database) << " ms after the start: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(successor->count_in_log(has_ended_leases) == 1);
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);
  // `status` counts calls of living processes only.
  const auto status = nlohmann::json::parse(command(fixture.config, {"status", "--json"}).out);
  CHECK(status.at("handlers").at(0).at("concurrency") == 2);
  // Once for each predecessor.
  REQUIRE(successor->stop() == ExitStatus{0, 0});
  CHECK(fixture.start()->count_in_log(has_ended_leases) == 0);
}

TEST_CASE("a process that starts after a kill runs the transactions of its predecessor at once") {
  DaemonFixture fixture{2};
  Application app{fixture.database};
  app.create_table();
  app.run("create table app.gate (closed int); insert into app.gate values (1)");
  fixture.config.handlers = {app.statement(
      "recorder",
      "insert into app.applied select event_id from events, pg_sleep((select sum(closed) from app.gate) * 600)")};
  fixture.config.sections["handler_defaults"] = long_lease;
  auto killed = fixture.start();
  fixture.produce(40);
  fixture.database.wait_for("a call sleeps",
                            "select (count(*) > 0)::int from pg_stat_activity where wait_event = 'PgSleep' and "
                            "query like '%" + fixture.database.schema() + "%'",
                            1);
  killed->kill();
  app.run("delete from app.gate");
  killed = fixture.start();
  app.wait_for("each row is there", "select count(distinct event_id) from app.applied", 40);
  CHECK(app.applied() == 40);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(killed->count_in_log(has_ended_leases) == 1);
}

TEST_CASE("a neighbour on the machine keeps its leases, also while it is stopped") {
  const std::string mode = GENERATE("single", "sequential");
  const bool is_stopped = GENERATE(false, true);
  CAPTURE(mode, is_stopped);
  DaemonFixture fixture{2};
  fixture.config.handlers[0].more = {"mode: " + mode};
  Predecessor neighbour{fixture};
  const auto before = neighbour.leases();
  if (is_stopped) neighbour.daemon->process().signal(SIGSTOP);
  const auto other = fixture.start();
  CHECK(other->count_in_log(has_ended_leases) == 0);
  if (mode == "single") CHECK(neighbour.leases() == before);  // sequences follow their partitions
  neighbour.open_gate();
  neighbour.daemon->process().signal(SIGCONT);
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  if (mode == "single") CHECK(counts.calls == 40);
  CHECK(neighbour.daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("leases of another machine's process are left to their end") {
  DaemonFixture fixture{2};
  Predecessor killed{fixture};
  killed.daemon->kill();
  fixture.database.run("update inbox.instance set boot = 'another/1'");
  const auto before = killed.leases();
  {
    const auto other = fixture.start();
    CHECK(other->count_in_log(has_ended_leases) == 0);
    CHECK(killed.leases() == before);
    CHECK(other->stop() == ExitStatus{0, 0});
  }
  fixture.database.run(
      "update inbox.instance set boot = (select max(boot) from inbox.instance where boot <> 'another/1')");
  const auto successor = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
}

// fault: two processes with the same kafka.instance_id
TEST_CASE("a process with the member name of another machine's process takes its events over, and fences it") {
  const std::string mode = GENERATE("single", "sequential");
  CAPTURE(mode);
  DaemonFixture fixture{2};
  fixture.config.handlers[0].more = {"mode: " + mode};
  fixture.config.instance_id = "member-1";
  Predecessor stopped{fixture};
  stopped.daemon->process().signal(SIGSTOP);
  fixture.database.run("update inbox.instance set boot = 'another/1'");
  const auto successor = fixture.start();
  CHECK(successor->count_in_log(has_ended_leases) == 1);
  CHECK(successor->count_in_log(shares_instance_id) == 0);
  CHECK(fixture.wait_done().is_perfect());
  const auto outcomes =
      fixture.database.text("select md5(string_agg(o::text, ' ' order by o::text)) from inbox.outcome o");
  stopped.open_gate();
  stopped.daemon->process().signal(SIGCONT);
  wait_until("brokers shut it out", [&] { return !stopped.daemon->process().is_running(); });
  CHECK(fixture.counts().is_perfect());
  CHECK(fixture.database.text("select md5(string_agg(o::text, ' ' order by o::text)) from inbox.outcome o") ==
        outcomes);
  wait_until("the log names the process that lives", [&] { return successor->count_in_log(shares_instance_id) == 1; });
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(successor->stop() == ExitStatus{0, 0});
}

// fault: two processes with the same kafka.instance_id
TEST_CASE("a living process of this machine with the same kafka.instance_id keeps its leases until it is shut out") {
  const std::string mode = GENERATE("single", "sequential");
  CAPTURE(mode);
  DaemonFixture fixture{2};
  fixture.config.handlers[0].more = {"mode: " + mode};
  fixture.config.instance_id = "member-1";
  Predecessor older{fixture};
  const auto before = older.leases();
  older.daemon->process().signal(SIGSTOP);  // so that it cannot release them yet
  const auto newer = fixture.start();
  CHECK(newer->count_in_log(has_ended_leases) == 0);
  CHECK(newer->count_in_log(shares_instance_id) == 1);
  if (mode == "single") CHECK(older.leases() == before);  // sequences follow their partitions
  older.daemon->process().signal(SIGCONT);
  wait_until("brokers shut it out", [&] { return !older.daemon->process().is_running(); });
  CHECK(fixture.wait_done().is_perfect());
  CHECK(newer->stop() == ExitStatus{0, 0});
}

TEST_CASE("a successor that is killed while it takes over is succeeded in turn") {
  DaemonFixture fixture{2};
  Predecessor killed{fixture};
  killed.daemon->kill();
  const auto before = killed.leases();
  REQUIRE(before > 1);
  Session locker{fixture.database.url(), fixture.database.schema()};
  locker.run("begin");
  locker.run("select from inbox.delivery where owner is not null order by delivery_id limit 1 for update");
  {
    DaemonProcess successor{fixture.config};
    wait_until("all leases but one are ended", [&] { return killed.leases() == 1; });
    successor.kill();
  }
  locker.run("rollback");
  CHECK(fixture.database.number("select count(*) from inbox.instance where successor is not null") == 0);
  const auto last = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(last->count_in_log(has_ended_leases) >= 1);
}
