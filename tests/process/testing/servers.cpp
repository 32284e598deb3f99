#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "process/testing/testing_fixture.hpp"
#include "support/database.hpp"
#include "support/fenced_block.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the example of order_book passes on a server that the test starts and removes") {
  const TempFolder folder;
  const std::string example = std::string{INBOXD_EXAMPLES} + "/order_book/";
  const auto finished = run_to_end({.arguments = {daemon_program(), "--config", example + "inboxd.yaml", "test",
                                                  example + "test.yaml"},
                                    .environment = {{"TMPDIR", folder.path()}}});
  INFO(finished.err);
  CHECK(finished.status == ExitStatus{0, 0});
  CHECK_THAT(finished.out, ContainsSubstring("4 passed, 0 failed\n"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("the example of config/testing.md passes with the first configuration of the README") {
  const std::string config = std::string{INBOXD_EXAMPLES} + "/../";
  TestingFixture fixture{""};
  write_file(fixture.folder / "inboxd.yaml", fenced_block(read_file(config + "../README.md"), "yaml"));
  const auto finished = fixture.run(fenced_block(read_file(config + "testing.md"), "yaml"));
  INFO(finished.err);
  CHECK(finished.out == "passed  an order makes a receipt\npassed  an order without a number is dead\n"
                        "2 passed, 0 failed\n");
}

TEST_CASE("the databases of a test on a running server are dropped, also of cases that fail") {
  const std::string role = random_name();
  Session server{needed("INBOXD_TEST_PG"), "inbox"};
  server.run("create role " + role + " superuser login");
  TestingFixture fixture{"  - {name: log, plugin: log, subscribe: {}}\n"};
  const auto finished = fixture.run_without_server(
      "cases: [{name: a, records: [{topic: orders}]}, {name: b, records: [{topic: orders, expect: {type: c}}]}]",
      {"--database", "postgresql://" + role + "@127.0.0.1:" + needed("INBOXD_TEST_PG_PORT") + "/postgres"});
  INFO(finished.err);
  CHECK_THAT(finished.out, ContainsSubstring("1 passed, 1 failed\n"));
  server.run("drop role " + role);  // refused while it owns a database
}

TEST_CASE("a test without a server names the remedy") {
  TestingFixture fixture{"  - {name: log, plugin: log, subscribe: {}}\n"};
  const std::string cases = "cases: [{name: a, records: [{topic: orders}]}]";
  const auto away = fixture.run_without_server(cases, {"--database", "postgresql://nobody@127.0.0.1:1/none"});
  CHECK(away.status == ExitStatus{69, 0});
  CHECK_THAT(away.err, ContainsSubstring("a database for the tests cannot be created: "));
}
