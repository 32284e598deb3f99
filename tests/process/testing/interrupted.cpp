// Ctrl-C in a test, and the option --real.
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "process/testing/testing_fixture.hpp"
#include "support/database.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A test that is interrupted in its first case: the handler has written a file and sleeps.
struct Interrupted {
  TempFolder temporary, state;
  const std::string started = state / "started";
  TestingFixture fixture{
      "  - {name: slow, plugin: exec, subscribe: {}, deadline: 300s, settings: {mode: once, "
      "command: [/bin/sh, -c, \"touch " + started + "; exec sleep 600\"]}}\n"};
  std::string out, err;

  ExitStatus run(const std::vector<std::string>& more) {
    const std::string file = fixture.folder / "test.yaml";
    write_file(file, "cases: [{name: a, records: [{topic: orders, value: x}]}, {name: b, records: [{topic: orders}]}]");
    std::vector<std::string> words{daemon_program(), "--config", fixture.folder / "inboxd.yaml", "test", file,
                                   "--timeout", "1h"};
    words.insert(words.end(), more.begin(), more.end());
    Process process{{.arguments = words,
                     .environment = {{"TMPDIR", temporary.path()}},
                     .out = fixture.folder / "out",
                     .err = fixture.folder / "err"}};
    wait_until("the handler is called", [&] { return std::filesystem::exists(started) || !process.is_running(); });
    process.signal(SIGINT);
    const auto status = process.wait();
    out = read_file(fixture.folder / "out");
    err = read_file(fixture.folder / "err");
    return status;
  }
};

}  // namespace

TEST_CASE("Ctrl-C ends a test with status 75, without its server and folder, and with the results so far") {
  Interrupted test;
  const std::string junit = test.fixture.folder / "out.xml";
  const auto status = test.run({"--junit", junit});
  INFO(test.out << test.err);
  CHECK(status == ExitStatus{75, 0});
  CHECK(test.out == "failed  a: interrupted\n0 passed, 1 failed\n");
  CHECK_THAT(test.err, ContainsSubstring("test: interrupted; the rest of the cases did not run"));
  CHECK(std::filesystem::is_empty(test.temporary.path()));
  CHECK_THAT(read_file(junit), ContainsSubstring("<failure message=\"interrupted\">"));
}

TEST_CASE("Ctrl-C drops the databases of a test on a running server") {
  const std::string role = random_name();
  Session server{needed("INBOXD_TEST_PG"), "inbox"};
  server.run("create role " + role + " superuser login");
  Interrupted test;
  const auto status = test.run({"--database", "postgresql://" + role + "@127.0.0.1:" + needed("INBOXD_TEST_PG_PORT") +
                                                  "/postgres"});
  INFO(test.err);
  CHECK(status == ExitStatus{75, 0});
  server.run("drop role " + role);  // refused while it owns a database
}

TEST_CASE("with --real a handler http calls its real address, without it the address of the test") {
  const TempFolder folder;
  const std::string port = folder / "port", requests = folder / "requests";
  const Process service{{.arguments = {"python3", INBOXD_HTTP_SERVICE, port, requests}}};
  wait_until("the service listens", [&] { return std::filesystem::exists(port) && !read_file(port).empty(); });
  const std::string number = std::to_string(std::stoi(read_file(port)));
  TestingFixture fixture{"  - {name: notify, plugin: http, subscribe: {}, settings: {url: \"http://127.0.0.1:" +
                         number + "/orders?from=inbox\"}}\n"};
  const std::string cases =
      "cases: [{name: a, records: [{topic: orders, value: {n: 1}, expect: {handlers: [notify]}}]}]";
  CHECK(fixture.run(cases).out == "passed  a\n1 passed, 0 failed\n");
  CHECK_FALSE(std::filesystem::exists(requests));
  const auto real = fixture.run(cases, {"--real"});
  INFO(real.err);
  CHECK(real.out == "passed  a\n1 passed, 0 failed\n");
  const auto request = nlohmann::json::parse(read_file(requests));
  CHECK(request.at("path") == "/orders?from=inbox");
  CHECK(request.at("body") == R"({"n":1})");
}
