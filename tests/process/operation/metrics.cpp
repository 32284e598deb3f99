#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <csignal>
#include <ctime>

#include "process/support/admin_fixture.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("metrics show waiting, failing and paused work while it lasts") {
  AdminFixture admin;
  const TempFolder folder;
  admin.fixture.set("gate", folder / "gate");
  admin.fixture.set("fail_type", "Bad");
  admin.config.handlers[0].more = {"retry: {base: 1m}", "concurrency: 1"};
  auto daemon = admin.start();
  const auto seen = [&](const std::string& metric, const std::string& more = "") {
    return gauge(admin.port, "inboxd_" + metric + "{handler=\"recorder\"" + more + "}");
  };
  const auto wait_for = [&](const std::string& metric, const auto& fits, const std::string& more = "") {
    wait_until(metric + more + " tells it", [&] { return fits(seen(metric, more)); });
  };
  admin.fixture.produce(1, "Bad");
  wait_until("the first call is held", [&] { return admin.fixture.recording.count() == 1; });
  CHECK(seen("in_hand_events") == 1);
  admin.fixture.produce(5);
  wait_for("queued_events", [](double events) { return events >= 1; });
  CHECK(seen("failures_total", ",error_class=\"test.failure\"") == -1);

  write_file(folder / "gate", "");
  wait_for(
      "failures_total", [](double failures) { return failures == 1; }, ",error_class=\"test.failure\"");
  wait_for("queued_events", [](double events) { return events == 0; });
  wait_for(
      "backlog_events", [](double events) { return events == 1; }, ",state=\"retrying\"");
  wait_for("backlog_oldest_retrying_age_seconds", [](double seconds) { return seconds > 0; });

  CHECK(seen("handler_paused") == 0);
  admin.database.run("update inbox.handler set paused_reason = 'a test'");
  wait_for("handler_paused", [](double paused) { return paused == 1; });
}

TEST_CASE("metrics count records, events, handlers and configurations by result") {
  AdminFixture admin{2};
  admin.fixture.set("fail_type", "Bad");
  admin.config.handlers[0].more = {"retry: {max_attempts: 2, base: 10ms}"};
  auto daemon = admin.start();
  admin.fixture.produce(50);
  admin.fixture.produce(1, "Bad");
  admin.fixture.kafka.produce({{.topic = admin.topic, .payload = "no id"}});
  admin.database.wait_for("one is dead", "select count(*) from inbox.dead_letter", 1);
  const int port = admin.port;
  const std::string handler = "handler=\"recorder\"";
  wait_until("all is counted",
             [&] { return gauge(port, "inboxd_attempts_total{" + handler + ",outcome=\"done\"}") == 50; });
  CHECK(gauge(port, "inboxd_attempts_total{" + handler + ",outcome=\"retried\"}") == 1);
  CHECK(gauge(port, "inboxd_attempts_total{" + handler + ",outcome=\"dead\"}") == 1);
  CHECK(gauge(port, "inboxd_ingest_records_total{result=\"new\"}") == 51);
  CHECK(gauge(port, "inboxd_ingest_records_total{result=\"quarantined\"}") == 1);
  CHECK(gauge(port, "inboxd_records_decoded_total{envelope=\"outbox_router\",result=\"event\"}") == 51);
  CHECK(gauge(port, "inboxd_records_decoded_total{envelope=\"none\",result=\"no_id\"}") == 1);
  CHECK(gauge(port, "inboxd_handler_call_seconds_count{" + handler + "}") >= 3);
  CHECK(gauge(port, "inboxd_end_to_end_seconds_count{" + handler + "}") == 50);
  CHECK(gauge(port, "inboxd_partitions{state=\"reading\"}") == 2);
  CHECK(gauge(port, "inboxd_ready") == 1);
  const auto received = [&](int partition) {
    return gauge(port, "inboxd_partition_received_total{topic=\"" + admin.topic + "\",partition=\"" +
                           std::to_string(partition) + "\"}");
  };
  CHECK(received(0) + received(1) == 52);
  CHECK(gauge(port, "inboxd_ingest_batch_records_sum") == 52);
  for (const std::string loop : {"poll", "settle"}) {
    const double moved = gauge(port, "inboxd_last_" + loop + "_timestamp_seconds");
    CHECK(std::abs(moved - static_cast<double>(std::time(nullptr))) < 30);
  }
  const auto ends = admin.fixture.kafka.ends(admin.topic);
  for (const int partition : {0, 1}) {
    const std::string labels = "{topic=\"" + admin.topic + "\",partition=\"" + std::to_string(partition) + "\"}";
    CHECK(gauge(port, "inboxd_partition_position" + labels) == static_cast<double>(ends.at(partition)));
    CHECK(gauge(port, "inboxd_partition_halted" + labels) == 0);
  }
  wait_until("the database is counted", [&] { return gauge(port, "inboxd_dead_letters{" + handler + "}") == 1; });
  CHECK(gauge(port, "inboxd_quarantined_records{topic=\"" + admin.topic + "\",reason=\"no_id\"}") == 1);

  CHECK(gauge(port, "inboxd_config_last_reload_successful") == 1);
  daemon->write_config("no: configuration");
  daemon->process().signal(SIGHUP);
  wait_until("the failed reload is counted", [&] { return gauge(port, "inboxd_config_last_reload_successful") == 0; });
  CHECK(gauge(port, "inboxd_log_lines_total{level=\"error\",kind=\"daemon.reload_refused\"}") >= 1);
  const TempFolder folder;
  write_file(folder / "metrics", get(port, "/metrics").body);
  const auto checked =
      run_to_end({.arguments = {"sh", "-c", "promtool check metrics <" + (folder / "metrics").string()}});
  INFO(checked.out << checked.err);
  CHECK(checked.status == ExitStatus{0, 0});
}
