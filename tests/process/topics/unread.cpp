// Partitions whose records wait although a daemon runs: status, readiness and metrics name them and the cause.
#include <catch2/catch_test_macros.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// As if a minute had passed.
void age_readings(DaemonFixture& fixture) {
  fixture.database.run("update inbox.reading set moved_at = moved_at - interval '1 minute' where position is null or "
                       "position < high_watermark");
}

}  // namespace

// fault: a foreign member in the group
TEST_CASE("records of partitions that a foreign member of the group has are a problem, with its name") {
  DaemonFixture fixture{4};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const auto daemon = fixture.start();
  Database elsewhere;
  ConfigText foreign = fixture.config;
  foreign.url = elsewhere.url();
  foreign.schema = elsewhere.schema();
  foreign.kafka["client.id"] = "stranger";
  foreign.sections["admin"] = "listen: off";
  auto other = std::make_unique<DaemonProcess>(foreign);
  other->wait_ready();
  wait_until("both are members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  fixture.produce(400);
  fixture.database.wait_for("two partitions have a foreign member",
                            "select count(*) from inbox.reading where member like 'stranger at %' and "
                            "position < high_watermark", 2);
  age_readings(fixture);
  const auto status = [&] { return command(fixture.config, {"status"}); };
  wait_until("status names it", [&] { return status().out.find("assigned them to stranger at") != std::string::npos; });
  CHECK(status().status == ExitStatus{1, 0});
  const std::string of_topic = "{topic=\"" + fixture.topic + "\",partition=\"";
  wait_until("metrics do", [&] {
    int stuck = 0, lags = 0;
    for (int i = 0; i < 4; ++i) {
      stuck += gauge(port, "inboxd_partition_unmoved_seconds" + of_topic + std::to_string(i) + "\"}") > 60 ? 1 : 0;
      lags += gauge(port, "inboxd_partition_lag" + of_topic + std::to_string(i) + "\"}") > 0 ? 1 : 0;
    }
    return stuck == 2 && lags == 2;
  });
  const auto is_named_while_ready = [&] {
    const auto ready = get(port, "/readyz");
    return ready.status == 200 && ready.body.find("stranger") != std::string::npos;
  };
  wait_until("readiness names it, and holds", is_named_while_ready);
  other->stop();
  CHECK(fixture.wait_done().is_perfect());
  wait_until("all is well again", [&] { return status().status == ExitStatus{0, 0}; });
}
