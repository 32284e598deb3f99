#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Two handlers; the second is retired.
struct RetiredHandlerFixture {
  RetiredHandlerFixture() {
    fixture.config.handlers.push_back(fixture.config.handlers.front());
    fixture.config.handlers.back().name = "leaving";
  }
  Finished run(const std::string& verb) { return command(fixture.config, {"handlers", verb, "leaving", "--yes"}); }
  std::int64_t done() {
    return fixture.database.number(
        "select coalesce(sum(inbox.count_of(offsets)), 0)::int "
        "from inbox.outcome join inbox.handler using (handler_id) where name = 'leaving' and outcome = 'done'");
  }
  std::int64_t pending() {
    return fixture.database.number(
        "select (select count(*) from inbox.backfill) + (select count(*) from inbox.delivery)");
  }
  std::string status() { return command(fixture.config, {"status"}).out; }

  DaemonFixture fixture{1};
};

}  // namespace

TEST_CASE("a retired handler stays retired after a start with an unchanged configuration, until it is restored") {
  RetiredHandlerFixture test;
  DaemonFixture& fixture = test.fixture;
  auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.wait_done("leaving").is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(test.run("retire").status == ExitStatus{0, 0});

  const auto unchanged = fixture.config.handlers;
  fixture.config.handlers.back().plugin = "/nowhere/of-a-retired-handler.so";  // it is not loaded
  daemon = fixture.start();
  daemon->wait_log("kind=daemon.handler_retired");
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(test.pending() == 0);
  CHECK(test.done() == 20);
  CHECK_THAT(command(fixture.config, {"check"}).out,
             ContainsSubstring("warning  handler leaving: it is retired and does not run: `inboxd handlers restore "
                               "leaving`, or remove it from the configuration"));
  CHECK_THAT(test.status(), ContainsSubstring("handler leaving is retired, and still configured"));

  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.config.handlers = unchanged;
  daemon = fixture.start();
  daemon->wait_log("kind=daemon.handler_retired");
  const auto restored = test.run("restore");
  CHECK(restored.status == ExitStatus{0, 0});
  CHECK_THAT(restored.out, ContainsSubstring("leaving is restored; it gets events stored from now on"));
  fixture.produce(5);
  wait_until("it does what came since", [&] { return test.done() == 25; });
  CHECK(fixture.wait_done().is_perfect());
  CHECK(test.pending() == 0);
  CHECK_THAT(test.status(), !ContainsSubstring("retired"));
}

TEST_CASE("a daemon stops running a retired handler, and runs it again once it is restored") {
  RetiredHandlerFixture test;
  DaemonFixture& fixture = test.fixture;
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "', token: correct-horse";
  const auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done("leaving").is_perfect());
  const auto runs = [&](int handlers) {
    fixture.database.wait_for("so many handlers run",
                              "select cardinality(handlers) from inbox.instance where stopped_at is null", handlers);
  };
  const auto asked = post(port, "/v1/handlers/retire", R"({"handler": "leaving"})",
                          {"Authorization: Bearer correct-horse", "Content-Type: application/json"});
  INFO(asked.body);
  CHECK(asked.status == 200);
  CHECK(nlohmann::json::parse(asked.body).at("configured_by").size() == 1);
  runs(1);
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(test.pending() == 0);
  CHECK_THAT(test.run("retire").out, ContainsSubstring("leaving is retired already"));

  CHECK(test.run("restore").status == ExitStatus{0, 0});
  runs(2);
  fixture.produce(5);
  wait_until("it does what came since", [&] { return test.done() == 25; });
  CHECK(daemon->count_in_log("kind=daemon.handler_retired") == 1);
}

TEST_CASE("a misspelt handler is not retired, and the nearest name is shown") {
  RetiredHandlerFixture test;
  test.fixture.migrate();
  const auto daemon = test.fixture.start();
  const auto refused = command(test.fixture.config, {"handlers", "retire", "leavign", "--yes", "--json"});
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.err, ContainsSubstring("no handler \"leavign\"; did you mean \"leaving\"?"));
  CHECK(nlohmann::json::parse(refused.out).at("did_you_mean") == "leaving");
}
