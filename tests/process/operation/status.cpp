#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "process/support/admin_fixture.hpp"
#include "support/http.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

struct StatusResult {
  int code = 0;
  nlohmann::json document;
  std::vector<std::string> kinds() const {
    std::vector<std::string> out;
    for (const auto& finding : document.at("findings")) out.push_back(finding.at("kind"));
    return out;
  }
  const nlohmann::json& partition() const { return document.at("topics").at(0); }
};

StatusResult status_of(const DaemonFixture& fixture) {
  const auto finished = command(fixture.config, {"status", "--json"});
  INFO(finished.err);
  return {finished.status.code, nlohmann::json::parse(finished.out)};
}

/// Time from a start until the end of the only partition, and so its lag, is known.
milliseconds known_after_start(DaemonFixture& fixture, std::int64_t end) {
  const std::string before = fixture.database.text("select clock_timestamp()::text");
  const auto began = monotonic_ms();
  const auto daemon = fixture.start();
  const std::string seen_since = "select high_watermark from inbox.lag where lag is not null and observed_at > ";
  fixture.database.wait_for("lag and high watermark are known", seen_since + "'" + before + "'", end);
  return milliseconds{monotonic_ms() - began};
}

constexpr milliseconds soon{3'000};

}  // namespace

TEST_CASE("lag and high watermark are known within three seconds of a start", "[alone]") {
  DaemonFixture fixture{1};
  fixture.config.kafka["session.timeout.ms"] = "30000";
  fixture.migrate();
  SECTION("of an idle topic, for the first time and after a restart") {
    CHECK(known_after_start(fixture, 0) < soon);
    CHECK(known_after_start(fixture, 0) < soon);
  }
  SECTION("with a backlog") {
    fixture.produce(20'000);
    CHECK(known_after_start(fixture, 20'000) < soon);
    fixture.produce(1'000);
    CHECK(known_after_start(fixture, 21'000) < soon);
  }
  SECTION("with a backlog that cannot be read yet, because the session of a crashed daemon lasts") {
    {
      auto daemon = fixture.start();
      fixture.produce(5);
      fixture.wait_stored(5);
      daemon->kill();
    }
    fixture.produce(2'000);
    CHECK(known_after_start(fixture, 2'005) < soon);
    CHECK(fixture.database.number("select count(*) from inbox.event") == 5);
    CHECK(fixture.database.number("select lag from inbox.lag") == 2'000);
  }
}

TEST_CASE("status shows no lag while no daemon runs, however recently a daemon has stopped") {
  DaemonFixture fixture{1};
  {
    const auto daemon = fixture.start();
    fixture.produce(5);
    CHECK(fixture.wait_done().is_perfect());
    wait_until("the lag is 0", [&] { return status_of(fixture).partition().at("lag") == 0; });
    CHECK(status_of(fixture).code == 0);
    CHECK(daemon->stop() == ExitStatus{0, 0});
  }
  fixture.produce(7);
  const auto result = status_of(fixture);
  CHECK(result.code == 1);
  CHECK(result.kinds() == std::vector<std::string>{"no_live_daemon"});
  CHECK(result.partition().at("lag").is_null());
  const auto shown = command(fixture.config, {"status"});
  CHECK(shown.status == ExitStatus{1, 0});
  CHECK_THAT(shown.out, ContainsSubstring("PROBLEM no daemon is running\n"));
  CHECK_THAT(shown.out, ContainsSubstring("  ?  ? ("));
}

TEST_CASE("events without a handler are reported with the probable subscription, also after a restart") {
  AdminFixture admin;
  auto& fixture = admin.fixture;
  admin.config.handlers[0].types = {"OrderPlaced"};
  auto daemon = admin.start();
  fixture.produce(3, "OrderPlaced");
  fixture.produce(4, "order.placed");
  const auto is_reported = [&] {
    const auto result = status_of(fixture);
    return result.code == 1 &&
           result.document.at("problems")
                   .dump()
                   .find("no handler subscribes to 4 stored events of topic " + fixture.topic +
                         ", type order.placed; handler recorder subscribes to OrderPlaced: did you mean "
                         "order.placed?") != std::string::npos;
  };
  wait_until("status tells it", is_reported);
  const std::string metric = "inboxd_unsubscribed_events_total{topic=\"" + fixture.topic + "\"}";
  CHECK(gauge(admin.port, metric) == 4);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  daemon = admin.start();
  wait_until("status tells it again", is_reported);
  wait_until("the new process counts from 0", [&] { return gauge(admin.port, metric) == 0; });

  admin.config.handlers[0].types.push_back("order.placed");
  daemon->write_config(admin.config.text());
  daemon->process().signal(SIGHUP);
  wait_until("it is subscribed to by now", [&] { return status_of(fixture).code == 0; });
}

TEST_CASE("a handler renamed without an alias and a topic that is not read are problems with metrics") {
  AdminFixture admin;
  auto& fixture = admin.fixture;
  fixture.set("fail_type", "Bad");
  admin.config.handlers[0].more = {"retry: {base: 1h, cap: 1h}"};
  {
    const auto daemon = admin.start();
    fixture.produce(2, "Bad");
    fixture.database.wait_for("both wait", "select coalesce(sum(events), 0) from inbox.delivery where attempts = 1", 2);
  }
  admin.config.handlers[0].name = "renamed";
  admin.config.handlers[0].topics = {fixture.topic, fixture.topic + "s"};
  const auto daemon = admin.start();
  StatusResult result;
  wait_until("status tells both", [&] {
    result = status_of(fixture);
    return result.kinds() == std::vector<std::string>{"topic_not_read", "handler_without_instance"};
  });
  CHECK(result.code == 1);
  CHECK_THAT(result.document.at("verdict").get<std::string>(),
             ContainsSubstring("which no daemon reads (did you mean " + fixture.topic + "?)") &&
                 ContainsSubstring("no daemon runs handler recorder, which has 2 pending events"));
  wait_until("metrics tell both", [&] {
    return gauge(admin.port, "inboxd_handler_without_instance{handler=\"recorder\"}") == 1 &&
           gauge(admin.port, "inboxd_handler_topics_not_read{handler=\"renamed\"}") == 1;
  });
  CHECK(gauge(admin.port, "inboxd_handler_without_instance{handler=\"renamed\"}") == 0);
  CHECK(get(admin.port, "/v1/status").status == 200);
}
