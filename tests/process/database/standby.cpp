#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <optional>
#include <string>

#include "process/support/daemon_fixture.hpp"
#include "support/pgbouncer.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

// fault: synchronous standby gone: COMMIT hangs
TEST_CASE(
    "with the synchronous standby missing, connections stay bounded, nothing is acknowledged, the group is stable") {
  PrivatePostgres server;
  DaemonFixture fixture{4, server.url()};
  fixture.migrate();  // on a busy machine the migration takes longer than the deadline below
  std::optional<PgBouncer> pooler;
  const std::string way = GENERATE("directly", "through PgBouncer");
  fixture.config.sections["database"] = "deadline: 1s";
  if (way == "through PgBouncer") {
    fixture.config.url = pooler.emplace(server.url()).url();
    fixture.config.sections["database"] += ", prepare: false";
  }
  fixture.config.kafka["session.timeout.ms"] = "6000";
  fixture.config.kafka["max.poll.interval.ms"] = "6000";
  const auto daemon = fixture.start();
  fixture.produce(500);
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the offsets are committed", [&] {
    std::int64_t sum = 0;
    for (const auto& [partition, offset] : fixture.kafka.committed(fixture.config.group, fixture.topic)) sum += offset;
    return sum == 500;
  });
  const auto members = fixture.kafka.members(fixture.config.group);
  REQUIRE(members.size() == 1);

  server.lose_standby();
  const auto before = fixture.kafka.committed(fixture.config.group, fixture.topic);
  fixture.produce(500);
  std::int64_t most = 0;
  holds_for("nothing is acknowledged and the group is stable", milliseconds{9000}, [&] {
    most = std::max(
        most, fixture.database.number("select count(*) from pg_stat_activity where application_name like 'inboxd%'"));
    return fixture.kafka.committed(fixture.config.group, fixture.topic) == before &&
           fixture.kafka.members(fixture.config.group) == members;
  });
  // Six slots (control, two to ingest, claimer, settler, maintenance), each with at most a single unresolved session.
  WARN(way << ": most connections of the daemon at once: " << most);
  CHECK(most <= 12);
  server.configure("synchronous_standby_names = ''");
  const auto counts = fixture.wait_done();
  WARN(counts.text());
  CHECK(counts.is_perfect());
}
