#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Events per second, from the first stored to the last done.
double rate(DaemonFixture& fixture, std::int64_t events) {
  const auto microseconds = fixture.database.number(
      "select (extract(epoch from (select max(finished_at) from inbox.outcome) - (select min(received_at) from "
      "inbox.event)) * 1e6)::bigint");
  return static_cast<double>(events) * 1e6 / static_cast<double>(std::max<std::int64_t>(microseconds, 1));
}

}  // namespace

TEST_CASE(
    "upserts of three rows by eight workers keep their speed: few collisions, one warning, each event counted once") {
  constexpr int events = 3000;
  constexpr double slowest = 60;  // also on a busy machine; constant deadlocks gave 20
  DaemonFixture fixture{4};
  Application app{fixture.database};
  app.run("create table app.total (k int primary key, n bigint not null)");
  fixture.config.handlers = {app.statement("sums",
                                           "insert into app.total (k, n) select (body->>'n')::int % 3, 1 from events "
                                           "on conflict (k) do update set n = total.n + excluded.n",
                                           {"concurrency: 8", "events_per_call: 1", "group: 50"})};
  fixture.produce(events);
  const auto daemon = fixture.start();
  CHECK(fixture.wait_done("sums").is_perfect());
  CHECK(app.text("select string_agg(n::text, ' ' order by k) from app.total") == "1000 1000 1000");
  const double per_second = rate(fixture, events);
  const int deadlocks = daemon->count_in_log("sqlstate=40P01"), waits = daemon->count_in_log("sqlstate=55P03");
  std::printf("three rows, eight workers: %.0f events/s, %d deadlocks, %d long waits for a lock\n", per_second,
              deadlocks, waits);
  CHECK(per_second >= slowest);
  CHECK(deadlocks + waits <= 40);
  CHECK(daemon->count_in_log("kind=dispatcher.shared_lock_timeout") +
            daemon->count_in_log("kind=dispatcher.transaction_collided") ==
        1);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
}
