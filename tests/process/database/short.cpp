// What a server runs short of, clocks that differ, and rows that nobody takes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "process/support/stage.hpp"
#include "support/http.hpp"
#include "support/pgbouncer.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

int serve_health(Stage& stage) {
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  return port;
}

/// Sessions that take every connection there is.
class Crowd final {
 public:
  explicit Crowd(Stage& stage) : stage_{stage} {}

  void fill() {
    while (true) {
      auto next = std::make_unique<Session>(stage_.database.url(), stage_.database.schema());
      if (!next->is_up()) return;
      sessions_.push_back(std::move(next));
    }
  }
  void leave() { sessions_.clear(); }

 private:
  Stage& stage_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace

TEST_CASE("the server's clock and the daemon's are an hour apart: nothing comes early, nothing late") {
  const std::string by = GENERATE("3600", "-3600");
  const TempFolder folder;  // the server's user may not read where this was built
  const auto clock = folder / "clock_off.so";
  std::filesystem::copy_file(plugin_file("clock_off"), clock);
  PrivatePostgres server{{}, {{"LD_PRELOAD", clock}, {"INBOXD_TEST_CLOCK_OFF", by}}};
  Stage stage{2, server.url()};
  REQUIRE(stage.database.number(
              "select abs(extract(epoch from clock_timestamp()) - $1::bigint)::bigint",
              {std::to_string(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()))}) > 3500);
  stage.set("fail_first", "1");
  stage.config.handlers[0].more = {"retry: {max_attempts: 3, backoff: fixed, base: 500ms, jitter: 0}"};
  const auto daemon = stage.start();
  stage.produce(100);
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 200);
  std::map<std::string, std::int64_t> first;
  std::int64_t soonest = 60'000, latest = 0;
  for (const auto& call : stage.recording.all()) {
    if (const auto [at, is_first] = first.try_emplace(call.event_id, call.monotonic_ms); !is_first) {
      soonest = std::min(soonest, call.monotonic_ms - at->second);
      latest = std::max(latest, call.monotonic_ms - at->second);
    }
  }
  WARN("clocks " << by << " s apart: retries of 500 ms came after " << soonest << " to " << latest << " ms");
  CHECK(soonest >= 500);
  CHECK(latest < 5000);
}

TEST_CASE("a server that has no connection left: the daemon lives, loses nothing and goes on when there is one") {
  PrivatePostgres server{{"max_connections = 20", "superuser_reserved_connections = 0"}};
  Stage stage{2, server.url()};
  const int port = serve_health(stage);
  const auto daemon = stage.start();
  stage.produce(100);
  CHECK(stage.wait_done().is_perfect());
  Crowd crowd{stage};
  wait_until("no connection is left", [&] {
    stage.database.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'inboxd%'");
    crowd.fill();
    return stage.database.number("select count(*) from pg_stat_activity where application_name like 'inboxd%'") == 0;
  });
  stage.produce(100);
  holds_for("it lives, and stores nothing", milliseconds{2000}, [&] {
    return daemon->process().is_running() && get(port, "/livez").status == 200 &&
           stage.database.number("select count(*) from inbox.event") == 100;
  });
  crowd.leave();
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE(
    "a server whose disk is full: the daemon lives, nothing is taken for bad data, it goes on when there is room") {
  Stage stage{2};
  const int port = serve_health(stage);
  const auto daemon = stage.start();
  stage.produce(100);
  CHECK(stage.wait_done().is_perfect());
  stage.database.run(
      "create function inbox.full() returns trigger language plpgsql as $$ begin raise exception 'could not extend "
      "file: no space left on device' using errcode = 'disk_full'; end $$; "
      "create trigger full_disk before insert on inbox.event for each row execute function inbox.full(); "
      "create trigger full_disk before insert on inbox.outcome for each row execute function inbox.full()");
  stage.produce(100);
  daemon->wait_log("ingest: the batch is tried again", 2);
  CHECK(get(port, "/livez").status == 200);
  CHECK(stage.database.number("select count(*) from inbox.event") == 100);
  stage.database.run("drop trigger full_disk on inbox.event");  // what is stored now cannot be settled yet
  stage.wait_stored(200);
  holds_for("it lives", milliseconds{500}, [&] { return daemon->process().is_running() && stage.tally().done == 100; });
  stage.database.run("drop trigger full_disk on inbox.outcome");
  CHECK(stage.wait_done().is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("rows of a paused handler, and of one that nobody runs, do not hold up the others") {
  Stage stage{2};
  auto wider = stage.config;
  for (const char* name : {"paused", "gone"}) {
    wider.handlers.push_back(wider.handlers.at(0));
    wider.handlers.back().name = name;
  }
  {
    Daemon once{wider};
    once.wait_ready();
    CHECK(once.stop() == ExitStatus{0, 0});
  }
  stage.database.run("update inbox.handler set paused_reason = 'a test' where name = 'paused'");
  wider.handlers.pop_back();
  Daemon daemon{wider};
  daemon.wait_ready();
  stage.produce(5000);
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  for (const char* name : {"paused", "gone"}) {
    const auto other = stage.tally(name);
    CHECK(other.outstanding == 5000);
    CHECK(other.calls == 0);
  }
}

TEST_CASE("a migration that waits for a lock in vain is tried again, and nobody goes on with the old schema") {
  Stage stage{1};
  std::optional<PgBouncer> pooler;
  SECTION("for as long as the URL says") {
    stage.config.url += stage.config.url.find('?') == std::string::npos ? "?" : "&";
    stage.config.url += "options=-clock_timeout%3D200ms";
  }
  SECTION("through PgBouncer, for ten seconds") {
    pooler.emplace(stage.config.url);
    stage.config.url = pooler->url();
    stage.config.sections["database"] = "prepare: false, deadline: 25s";
  }
  Session other{stage.database.url(), stage.database.schema()};
  other.run("select pg_advisory_lock(1768841850, hashtext($1))", {stage.database.schema()});
  {
    Daemon daemon{stage.config};
    CHECK(daemon.process().wait() == ExitStatus{75, 0});
    CHECK(daemon.count_in_log("not migrated, somebody holds what it takes") == 1);
  }
  other.close();
  const auto daemon = stage.start();
  stage.produce(10);
  CHECK(stage.wait_done().is_perfect());
}
