// Migrations that somebody else applies.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/stage.hpp"
#include "support/environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

Finished psql(const std::string& url, const std::string& sql) {
  const TempFolder folder;
  write_file(folder / "plan.sql", sql);
  return run_to_end({{"psql", url, "-v", "ON_ERROR_STOP=1", "-X", "-q", "-f", folder / "plan.sql"}});
}

std::string plan_of(const Stage& stage) {
  const auto plan = command(stage.config, {"migrate", "--plan"});
  INFO(plan.err);
  REQUIRE(plan.status == ExitStatus{0, 0});
  return plan.out;
}

}  // namespace

TEST_CASE("what migrate --plan prints is all that psql has to be given, from nothing or from the middle") {
  Stage stage{1};
  const std::string whole = plan_of(stage);
  const auto middle = whole.find("-- 0003");
  REQUIRE(middle != std::string::npos);
  SECTION("from nothing") {
    const auto applied = psql(stage.config.url, whole);
    INFO(applied.err);
    REQUIRE(applied.status == ExitStatus{0, 0});
  }
  SECTION("from the middle") {
    REQUIRE(psql(stage.config.url, whole.substr(0, middle)).status == ExitStatus{0, 0});
    CHECK(command(stage.config, {"migrate", "--check"}).status == ExitStatus{1, 0});
    const std::string rest = plan_of(stage);
    CHECK(rest == whole.substr(middle));
    const auto applied = psql(stage.config.url, rest);
    INFO(applied.err);
    REQUIRE(applied.status == ExitStatus{0, 0});
  }
  const auto checked = command(stage.config, {"migrate", "--check"});
  INFO(checked.out << checked.err);
  CHECK(checked.status == ExitStatus{0, 0});
  CHECK(plan_of(stage).empty());
  Daemon daemon{stage.config, {"run"}};
  daemon.wait_ready();
  stage.produce(10);
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE("migrate says which migration it applies as it goes on, and applies none the second time") {
  const Stage stage{1};
  const auto first = command(stage.config, {"migrate"});
  CHECK(first.status == ExitStatus{0, 0});
  CHECK_THAT(first.err, ContainsSubstring("migrate: applying 0001") && ContainsSubstring("migrate: applying 0004"));
  const auto again = command(stage.config, {"migrate"});
  CHECK(again.status == ExitStatus{0, 0});
  CHECK_THAT(again.err, !ContainsSubstring("applying"));
}

TEST_CASE("a plan that is applied a second time, or out of turn, changes nothing") {
  Stage stage{1};
  const std::string whole = plan_of(stage);
  const auto second = whole.find("-- 0002"), third = whole.find("-- 0003");
  REQUIRE(psql(stage.config.url, whole.substr(0, second)).status == ExitStatus{0, 0});
  const auto skipping = psql(stage.config.url, whole.substr(third));
  CHECK(skipping.status != ExitStatus{0, 0});
  CHECK_THAT(skipping.err, ContainsSubstring("migration 3 is not what comes next"));
  CHECK(psql(stage.config.url, whole).status != ExitStatus{0, 0});
  CHECK(stage.database.number("select max(version) from inbox.migration") == 1);
  stage.migrate();
  CHECK(command(stage.config, {"migrate", "--check"}).status == ExitStatus{0, 0});
}

TEST_CASE("a plan for a database that is newer than the program is refused") {
  Stage stage{1};
  stage.migrate();
  stage.database.run("insert into inbox.migration (version, name, digest) values (99, 'future', '')");
  for (const std::string what : {"--plan", "--check"}) {
    const auto refused = command(stage.config, {"migrate", what});
    CHECK(refused.status == ExitStatus{1, 0});
    CHECK_THAT(refused.err, ContainsSubstring("run the newer version that migrated it"));
  }
}

TEST_CASE("a migration that was applied with another text is named by migrate --check, check and every start") {
  Stage stage{1};
  stage.migrate();
  CHECK(command(stage.config, {"migrate", "--check"}).status == ExitStatus{0, 0});
  stage.database.run("update inbox.migration set digest = 'another' where version = 2");
  const auto checked = command(stage.config, {"migrate", "--check"});
  CHECK(checked.status == ExitStatus{1, 0});
  CHECK_THAT(checked.err, ContainsSubstring("0002_functions was applied with another text"));
  const auto warned = command(stage.config, {"check"});
  CHECK_THAT(warned.out + warned.err, ContainsSubstring("0002_functions was applied with another text"));
  const auto daemon = stage.start();
  daemon->wait_log("migration=0002_functions");
}
