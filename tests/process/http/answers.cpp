// The shipped handler `http`: what answers mean, and services that misbehave.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <set>

#include "process/http/http_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("each event is posted once, with the same id on each attempt") {
  HttpFixture fixture{{}, 4};
  const auto daemon = fixture.start();
  fixture.produce(200);
  fixture.produce(1, "Once-500");
  CHECK(fixture.wait_done().is_perfect());
  std::set<std::string> ids;
  for (const auto& request : fixture.requests()) {
    CHECK(request["headers"]["idempotency-key"] == request["headers"]["webhook-id"]);
    ids.insert(request["headers"]["webhook-id"]);
  }
  CHECK(fixture.requests().size() == 202);
  CHECK(ids.size() == 201);
}

// fault: HTTP redirect
// fault: every HTTP status
TEST_CASE("every status has its outcome") {
  HttpFixture fixture{};
  fixture.config.handlers[0].more[0] = "retry: {max_attempts: 1}";
  const auto daemon = fixture.start();
  for (const char* const type : {"Status-200", "Status-204", "Status-299", "Redirect", "Status-404", "Status-500"}) {
    fixture.produce(1, type);
  }
  CHECK(fixture.states(6) == "dead dead dead done done done");
  const auto failures = fixture.failures();
  CHECK_THAT(failures,
             ContainsSubstring("http.307: POST http://127.0.0.1:" + fixture.port + "/events was answered 307"));
  CHECK_THAT(failures, ContainsSubstring("http.404") && ContainsSubstring("was answered 500:\nbecause"));
  CHECK(daemon->count_in_log("was answered 500:") == 1);
  CHECK(daemon->count_in_log("because") == 0);  // it may quote the event
  CHECK(fixture.requests_of("Redirect") == 1);
  for (const auto& request : fixture.requests()) CHECK(request["path"] == "/events");
}

// fault: every HTTP status
TEST_CASE("a permanent status is a dead letter at once, and 429 and 503 say when to come again") {
  HttpFixture fixture{};
  const auto daemon = fixture.start();
  for (const char* const type : {"Status-400", "Status-422", "After-1", "Date"}) fixture.produce(1, type);
  CHECK(fixture.states(4) == "dead dead done done");
  CHECK(fixture.requests().size() == 6);
  CHECK(fixture.database.number("select count(*) from inbox.failures where error_class in ('http.429', 'http.503')") ==
        2);
  CHECK(fixture.database.number("select count(*) from inbox.deliveries d join inbox.failures f using (event_id) "
                                "where d.state = 'done' and d.finished_at - f.occurred_at < interval '700 ms'") == 0);
}

TEST_CASE("410 pauses the handler, uncharged, until an operator resumes it") {
  HttpFixture fixture{};
  const auto daemon = fixture.start();
  fixture.produce(1, "Once-410");
  fixture.database.wait_for("it is paused", "select count(*) from inbox.handler where paused_reason like 'http.410: %'",
                            1);
  CHECK(command(fixture.config, {"handlers", "resume", "recorder", "--yes"}).status == ExitStatus{0, 0});
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.failures().empty());
}

// fault: HTTP answer slow
// fault: HTTP answer endless
// fault: HTTP answer lies about its length
TEST_CASE("a service that is slow, endless, lies about its length or answers a gigabyte ends by the deadline") {
  HttpFixture fixture{{"deadline: 1s"}};
  fixture.config.handlers[0].more[0] = "retry: {max_attempts: 1}";
  const auto daemon = fixture.start();
  for (const char* const type : {"Slow", "Endless", "Short", "Gigabyte"}) fixture.produce(1, type);
  fixture.produce(20);
  CHECK(fixture.states(24).starts_with("dead dead dead done"));
  const auto failures = fixture.failures();
  CHECK_THAT(failures, ContainsSubstring("http.timeout") && ContainsSubstring("http.broken_answer"));
  CHECK(resident_bytes(daemon->process().id()) < std::size_t{200} << 20);
}

// fault: HTTP connection reset at any byte
TEST_CASE("a connection that is lost before a status comes costs no attempt, later it does") {
  const int after = GENERATE(0, 1, 17, 38, 40);
  CAPTURE(after);
  HttpFixture fixture{};
  const auto daemon = fixture.start();
  fixture.produce(1, "Reset-" + std::to_string(after));
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.requests().size() == 2);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == (after < 18 ? 0 : 1));
}

TEST_CASE("an event on which the service dies again and again is charged for it") {
  HttpFixture fixture{{"deadline: 5s"}};
  fixture.config.handlers[0].more[0] = "retry: {max_attempts: 1}";
  const auto daemon = fixture.start();
  fixture.produce(1, "Killer");
  fixture.produce(3);
  CHECK(fixture.states(4) == "dead done done done");
  CHECK_THAT(fixture.failures(), ContainsSubstring("http.reset: "));
}

// fault: application beside the sidecar not up yet
// fault: application beside the sidecar gone first
// fault: HTTP service not up yet
// fault: HTTP service gone
// fault: HTTP service refuses
TEST_CASE("a service that is away costs no attempt, and its events run once it is back") {
  HttpFixture fixture{{}, 2};
  fixture.service->kill();
  const auto daemon = fixture.start();
  fixture.produce(50);
  daemon->wait_log("the service is away, its events wait uncharged: http.unreachable");
  fixture.start_service();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.requests().size() == 50);

  fixture.service->kill();
  fixture.produce(50);
  daemon->wait_log("the service is away, its events wait uncharged: http.unreachable", 2);
  fixture.start_service();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.failures().empty());
}

TEST_CASE("a service that stays away is a problem of status until it is back") {
  HttpFixture fixture{{}, 2};
  fixture.service->kill();
  const auto daemon = fixture.start();
  fixture.produce(5);
  Finished status;
  const auto says = [&](int code) {
    return [&fixture, &status, code] { return (status = command(fixture.config, {"status"})).status.code == code; };
  };
  wait_until("status has a problem", says(1));
  CHECK_THAT(status.out, ContainsSubstring("the service of handler recorder is away since ") &&
                             ContainsSubstring("http.unreachable: ") && ContainsSubstring("; 5 events pending\n"));
  CHECK_THAT(status.out, ContainsSubstring("remedy: start the service"));
  fixture.start_service();
  CHECK(fixture.wait_done().is_perfect());
  wait_until("status has none", says(0));
}

// fault: application beside the sidecar not up yet
// fault: application beside the sidecar gone first
// fault: HTTP service gone
TEST_CASE("no event is sent before the service is healthy, nor while it is not") {
  HttpFixture fixture{};
  fixture.set("health", "{path: /health, every: 100ms, failures: 2}");
  std::ofstream{fixture.folder / "requests.health"} << 503;
  const auto daemon = fixture.start();
  fixture.produce(20);
  daemon->wait_log("the service is unhealthy, its events wait");
  CHECK(fixture.requests().empty());
  std::ofstream{fixture.folder / "requests.health"} << 200;
  CHECK(fixture.wait_done().is_perfect());
  std::ofstream{fixture.folder / "requests.health"} << 500;
  daemon->wait_log("the service is unhealthy, its events wait", 2);
  fixture.produce(5);
  fixture.wait_stored(25);
  CHECK(fixture.requests().size() == 20);
  std::ofstream{fixture.folder / "requests.health"} << 200;
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.failures().empty());
}

TEST_CASE("a daemon killed with open requests loses no event, and ends them at a stop") {
  HttpFixture fixture{{"concurrency: 200"}, 4};
  auto daemon = fixture.start();
  fixture.produce(500);
  wait_until("some are sent", [&] { return fixture.requests().size() > 50; });
  daemon->kill();
  daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  fixture.produce(1, "Slow");
  wait_until("it is sent", [&] { return fixture.requests_of("Slow") == 1; });
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(fixture.failures().empty());
}

// fault: descriptor limit of 1,024
TEST_CASE("a soft limit of open files below the concurrency of http stops nothing") {
  HttpFixture fixture{{}, 4};
  fixture.config.handlers[0].more.insert(fixture.config.handlers[0].more.end(), {"mode: single", "concurrency: 300"});
  fixture.migrate();
  write_file(fixture.folder / "inboxd.yaml", fixture.config.text());
  Process daemon{{.arguments = {"sh", "-c", "ulimit -Sn 256; exec \"$0\" --config \"$1\" run", daemon_program(),
                                fixture.folder / "inboxd.yaml"},
                  .err = fixture.folder / "log"}};
  fixture.produce(600, "Wait-1");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.requests().size() == 600);
  daemon.signal(SIGTERM);
  CHECK(daemon.wait() == ExitStatus{0, 0});
  CHECK_THAT(read_file(fixture.folder / "log"), !ContainsSubstring("Too many open files"));
}
