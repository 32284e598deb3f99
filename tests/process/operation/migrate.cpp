#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

Finished psql(const std::string& url, const std::string& sql) {
  const TempFolder folder;
  write_file(folder / "plan.sql", sql);
  return run_to_end({{"psql", url, "-v", "ON_ERROR_STOP=1", "-X", "-q", "-f", folder / "plan.sql"}});
}

std::string plan_of(const DaemonFixture& fixture) {
  const auto plan = command(fixture.config, {"migrate", "--plan"});
  INFO(plan.err);
  REQUIRE(plan.status == ExitStatus{0, 0});
  return plan.out;
}

}  // namespace

TEST_CASE("psql needs only the output of migrate --plan, from any version") {
  DaemonFixture fixture{1};
  const std::string whole = plan_of(fixture);
  const auto middle = whole.find("-- functions_and_views");
  REQUIRE(middle != std::string::npos);
  SECTION("from an empty database") {
    const auto applied = psql(fixture.config.url, whole);
    INFO(applied.err);
    REQUIRE(applied.status == ExitStatus{0, 0});
  }
  SECTION("from the middle") {
    REQUIRE(psql(fixture.config.url, whole.substr(0, middle)).status == ExitStatus{0, 0});
    CHECK(command(fixture.config, {"migrate", "--check"}).status == ExitStatus{1, 0});
    const std::string rest = plan_of(fixture);
    CHECK(rest == whole.substr(middle));
    const auto applied = psql(fixture.config.url, rest);
    INFO(applied.err);
    REQUIRE(applied.status == ExitStatus{0, 0});
  }
  const auto checked = command(fixture.config, {"migrate", "--check"});
  INFO(checked.out << checked.err);
  CHECK(checked.status == ExitStatus{0, 0});
  CHECK(plan_of(fixture).empty());
  DaemonProcess daemon{fixture.config, {"run"}};
  daemon.wait_ready();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("migrate names each migration that it applies, and applies none a second time") {
  const DaemonFixture fixture{1};
  const auto first = command(fixture.config, {"migrate"});
  CHECK(first.status == ExitStatus{0, 0});
  CHECK_THAT(first.err,
             ContainsSubstring("migrate: applying 0001") && ContainsSubstring("migrate: applying functions_and_views"));
  const auto again = command(fixture.config, {"migrate"});
  CHECK(again.status == ExitStatus{0, 0});
  CHECK_THAT(again.err, !ContainsSubstring("applying"));
}

TEST_CASE("a plan that is applied twice, or out of order, changes nothing") {
  DaemonFixture fixture{1};
  const std::string whole = plan_of(fixture);
  const auto second = whole.find("-- functions_and_views");
  const auto skipping = psql(fixture.config.url, whole.substr(second));
  CHECK(skipping.status != ExitStatus{0, 0});
  CHECK_THAT(skipping.err, ContainsSubstring(".migration\" does not exist"));
  REQUIRE(psql(fixture.config.url, whole.substr(0, second)).status == ExitStatus{0, 0});
  CHECK(psql(fixture.config.url, whole).status != ExitStatus{0, 0});
  CHECK(fixture.database.number("select max(version) from inbox.migration") == 1);
  fixture.migrate();
  CHECK(command(fixture.config, {"migrate", "--check"}).status == ExitStatus{0, 0});
}

TEST_CASE("a plan for a database that is newer than the program is refused") {
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.database.run("insert into inbox.migration (version, name, digest) values (99, 'future', '')");
  for (const std::string what : {"--plan", "--check"}) {
    const auto refused = command(fixture.config, {"migrate", what});
    CHECK(refused.status == ExitStatus{1, 0});
    CHECK_THAT(refused.err, ContainsSubstring("run the newer version that migrated it"));
  }
}

TEST_CASE("a migration applied with another text is named by migrate --check, check and every start") {
  DaemonFixture fixture{1};
  fixture.migrate();
  CHECK(command(fixture.config, {"migrate", "--check"}).status == ExitStatus{0, 0});
  fixture.database.run("update inbox.migration set digest = 'another' where version = 1");
  const auto checked = command(fixture.config, {"migrate", "--check"});
  CHECK(checked.status == ExitStatus{1, 0});
  CHECK_THAT(checked.err, ContainsSubstring("0001_inbox was applied with another text"));
  const auto warned = command(fixture.config, {"check"});
  CHECK_THAT(warned.out + warned.err, ContainsSubstring("0001_inbox was applied with another text"));
  const auto daemon = fixture.start();
  daemon->wait_log("migration=0001_inbox");
}

TEST_CASE(
    "functions and views with another text are due: migrate --check and starts report them, migrate replaces them") {
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.database.run("update inbox.repeatable_migration set digest = 'another'");
  const auto checked = command(fixture.config, {"migrate", "--check"});
  CHECK(checked.status == ExitStatus{1, 0});
  CHECK_THAT(checked.err, ContainsSubstring("functions_and_views is due"));
  {
    DaemonProcess daemon{fixture.config, {"run"}};
    CHECK(daemon.process().wait() == ExitStatus{75, 0});
    CHECK_THAT(daemon.log(), ContainsSubstring("its functions and views are outdated: run `inboxd migrate`"));
  }
  const auto applied = psql(fixture.config.url, plan_of(fixture));
  INFO(applied.err);
  REQUIRE(applied.status == ExitStatus{0, 0});
  CHECK(command(fixture.config, {"migrate", "--check"}).status == ExitStatus{0, 0});
  CHECK(plan_of(fixture).empty());
}
