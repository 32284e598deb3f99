// Servers out of connections or disk space, differing clocks, and deliveries without an instance.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/pgbouncer.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

int serve_health(DaemonFixture& fixture) {
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  return port;
}

/// The server refuses events and outcomes with that error, until triggers `refused` are dropped.
void refuse_rows(DaemonFixture& fixture, const std::string& message, const std::string& condition) {
  fixture.database.run(
      "create function inbox.refuse() returns trigger language plpgsql as $$ begin raise exception '" + message +
      "' using errcode = '" + condition + "'; end $$; "
      "create trigger refused before insert on inbox.event for each row execute function inbox.refuse(); "
      "create trigger refused before insert on inbox.outcome for each row execute function inbox.refuse()");
}

class AllConnections final {
 public:
  explicit AllConnections(DaemonFixture& fixture) : fixture_{fixture} {}

  void open_all() {
    while (true) {
      auto next = std::make_unique<Session>(fixture_.database.url(), fixture_.database.schema());
      if (!next->is_up()) return;
      sessions_.push_back(std::move(next));
    }
  }
  void close_all() { sessions_.clear(); }

 private:
  DaemonFixture& fixture_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace

// fault: daemon's clock wrong by an hour
TEST_CASE("with the server's clock an hour off, nothing is early or late") {
  const std::string by = GENERATE("3600", "-3600");
  const TempFolder folder;  // the server's user cannot read the build folder
  const auto clock = folder / "clock_off.so";
  std::filesystem::copy_file(plugin_file("clock_off"), clock);
  PrivatePostgres server{{}, {{"LD_PRELOAD", clock}, {"INBOXD_TEST_CLOCK_OFF", by}}};
  DaemonFixture fixture{2, server.url()};
  REQUIRE(fixture.database.number(
              "select abs(extract(epoch from clock_timestamp()) - $1::bigint)::bigint",
              {std::to_string(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()))}) > 3500);
  fixture.set("fail_first", "1");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 3, backoff: fixed, base: 500ms, jitter: 0}"};
  const auto daemon = fixture.start();
  fixture.produce(100);
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 200);
  std::map<std::string, std::int64_t> first;
  std::int64_t soonest = 60'000, latest = 0;
  for (const auto& call : fixture.recording.all()) {
    if (const auto [at, is_first] = first.try_emplace(call.event_id, call.monotonic_ms); !is_first) {
      soonest = std::min(soonest, call.monotonic_ms - at->second);
      latest = std::max(latest, call.monotonic_ms - at->second);
    }
  }
  WARN("clocks " << by << " s apart: retries of 500 ms came after " << soonest << " to " << latest << " ms");
  CHECK(soonest >= 500);
  CHECK(latest < 5000);
}

// fault: too many connections
TEST_CASE("with no connection left, the daemon keeps running, loses nothing, and continues once a connection is free") {
  PrivatePostgres server{{"max_connections = 20", "superuser_reserved_connections = 0"}};
  DaemonFixture fixture{2, server.url()};
  const int port = serve_health(fixture);
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  AllConnections connections{fixture};
  wait_until("no connection is left", [&] {
    fixture.database.run(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'inboxd%'");
    connections.open_all();
    return fixture.database.number("select count(*) from pg_stat_activity where application_name like 'inboxd%'") == 0;
  });
  fixture.produce(100);
  holds_for("the daemon runs and stores nothing", milliseconds{2000}, [&] {
    return daemon->process().is_running() && get(port, "/livez").status == 200 &&
           fixture.database.number("select count(*) from inbox.event") == 100;
  });
  connections.close_all();
  CHECK(fixture.wait_done().is_perfect());
}

// fault: fewer database connections than workers
TEST_CASE("a role with too few connections holds no key back, and check, log and status name its limit") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  Application app{fixture.database};
  app.create_table();
  fixture.migrate();
  fixture.database.run("create role few login in role postgres connection limit 10");
  fixture.config.handlers = {app.statement("set", insert_each, {"concurrency: 8", "events_per_call: 1"})};
  auto limited = fixture.config;
  limited.url = "postgresql://few@127.0.0.1:" + std::to_string(server.port()) + "/postgres";
  const auto named = ContainsSubstring("role few allows 10 connections");
  CHECK_THAT(command(limited, {"check"}).out, named);
  CHECK_THAT(command(fixture.config, {"check"}).out, !named);
  DaemonProcess daemon{limited};
  daemon.wait_ready();
  daemon.wait_log("role few allows 10 connections");
  std::int64_t produced = 0;
  for (int burst = 0; burst < 10; ++burst) {
    fixture.produce(40);
    app.wait_for("each event is applied", "select count(*) from app.applied", produced += 40);
  }
  CHECK(app.applied_events() == produced);
  daemon.wait_log("too many connections for role");
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);
  wait_until("status names the limit", [&] {
    const auto told = command(fixture.config, {"status"});
    return told.status == ExitStatus{1, 0} && named.match(told.out);
  });
}

// fault: out of memory on the server
TEST_CASE("with the server out of memory, the daemon stays live, charges no event, and continues once it has memory") {
  DaemonFixture fixture{2};
  const int port = serve_health(fixture);
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  refuse_rows(fixture, "out of memory", "out_of_memory");
  fixture.produce(100);
  daemon->wait_log("kind=ingest.batch_failed", 2);
  CHECK(get(port, "/livez").status == 200);
  fixture.database.run("drop trigger refused on inbox.event");
  fixture.wait_stored(200);
  daemon->wait_log("kind=settler.database_failed");
  CHECK(get(port, "/livez").status == 200);
  CHECK(daemon->process().is_running());
  fixture.database.run("drop trigger refused on inbox.outcome");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

// fault: disk full
TEST_CASE("with a full disk, the daemon keeps running, quarantines nothing, and continues once there is space") {
  DaemonFixture fixture{2};
  const int port = serve_health(fixture);
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  refuse_rows(fixture, "could not extend file: no space left on device", "disk_full");
  fixture.produce(100);
  daemon->wait_log("kind=ingest.batch_failed", 2);
  CHECK(get(port, "/livez").status == 200);
  wait_until("status names the full disk, since when, and the last error", [&] {
    const auto status = command(fixture.config, {"status", "--json"}).out;
    return status.find("\"disk_full\"") != std::string::npos &&
           status.find("the database is out of disk space since 2") != std::string::npos &&
           status.find("could not extend file") != std::string::npos;
  });
  CHECK(fixture.database.number("select count(*) from inbox.event") == 100);
  fixture.database.run("drop trigger refused on inbox.event");  // events stored now cannot be settled yet
  fixture.wait_stored(200);
  holds_for("the daemon runs", milliseconds{500},
            [&] { return daemon->process().is_running() && fixture.counts().done == 100; });
  fixture.database.run("drop trigger refused on inbox.outcome");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

// fault: unknown handler or paused handler's rows fill a batch
TEST_CASE("deliveries of a paused handler and of a handler that no instance runs do not delay others") {
  DaemonFixture fixture{2};
  auto wider = fixture.config;
  for (const char* name : {"paused", "gone"}) {
    wider.handlers.push_back(wider.handlers.at(0));
    wider.handlers.back().name = name;
  }
  {
    DaemonProcess once{wider};
    once.wait_ready();
    CHECK(once.stop() == ExitStatus{0, 0});
  }
  fixture.database.run("update inbox.handler set paused_reason = 'a test' where name = 'paused'");
  wider.handlers.pop_back();
  DaemonProcess daemon{wider};
  daemon.wait_ready();
  fixture.produce(5000);
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  for (const char* name : {"paused", "gone"}) {
    const auto other = fixture.counts(name);
    CHECK(other.pending == 5000);
    CHECK(other.calls == 0);
  }
}

TEST_CASE("a migration that times out on a lock is retried, and no daemon runs on the old schema") {
  DaemonFixture fixture{1};
  std::optional<PgBouncer> pooler;
  SECTION("for the URL's lock_timeout") {
    fixture.config.url += fixture.config.url.find('?') == std::string::npos ? "?" : "&";
    fixture.config.url += "options=-clock_timeout%3D200ms";
  }
  SECTION("through PgBouncer, for ten seconds") {
    pooler.emplace(fixture.config.url);
    fixture.config.url = pooler->url();
    fixture.config.sections["database"] = "prepare: false, deadline: 25s";
  }
  Session other{fixture.database.url(), fixture.database.schema()};
  other.run("select pg_advisory_lock(1768841850, hashtext($1))", {fixture.database.schema()});
  {
    DaemonProcess daemon{fixture.config};
    CHECK(daemon.process().wait() == ExitStatus{75, 0});
    CHECK(daemon.count_in_log("not migrated, another session holds a lock") == 1);
  }
  other.close();
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
}
