// The synchronous standby is gone: every COMMIT hangs.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <optional>
#include <string>

#include "process/support/stage.hpp"
#include "support/pgbouncer.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE(
    "a synchronous standby that is gone: connections stay bounded, nothing is acknowledged, the group is stable") {
  PrivatePostgres server;
  Stage stage{4, server.url()};
  std::optional<PgBouncer> pooler;
  const std::string way = GENERATE("directly", "through PgBouncer");
  stage.config.sections["database"] = "deadline: 1s";
  if (way == "through PgBouncer") {
    stage.config.url = pooler.emplace(server.url()).url();
    stage.config.sections["database"] += ", prepare: false";
  }
  stage.config.kafka["session.timeout.ms"] = "6000";
  stage.config.kafka["max.poll.interval.ms"] = "6000";
  const auto daemon = stage.start();
  stage.produce(500);
  CHECK(stage.wait_done().is_perfect());
  wait_until("the offsets are committed", [&] {
    std::int64_t sum = 0;
    for (const auto& [partition, offset] : stage.kafka.committed(stage.config.group, stage.topic)) sum += offset;
    return sum == 500;
  });
  const auto members = stage.kafka.members(stage.config.group);
  REQUIRE(members.size() == 1);

  server.lose_standby();
  const auto before = stage.kafka.committed(stage.config.group, stage.topic);
  stage.produce(500);
  std::int64_t most = 0;
  holds_for("nothing is acknowledged and the group is stable", milliseconds{9000}, [&] {
    most = std::max(
        most, stage.database.number("select count(*) from pg_stat_activity where application_name like 'inboxd%'"));
    return stage.kafka.committed(stage.config.group, stage.topic) == before &&
           stage.kafka.members(stage.config.group) == members;
  });
  // Six slots (control, two to ingest, claimer, settler, maintenance), each with at most one unresolved session beside.
  WARN(way << ": most connections of the daemon at once: " << most);
  CHECK(most <= 12);
  server.configure("synchronous_standby_names = ''");
  const auto tally = stage.wait_done();
  WARN(tally.text());
  CHECK(tally.is_perfect());
}
