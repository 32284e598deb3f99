// What operators see of local topics.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "process/local/local_fixture.hpp"
#include "support/http.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

TEST_CASE("a daemon without kafka is checked, healthy, measured and shown like any other") {
  LocalFixture fixture;
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const auto daemon = fixture.start();
  const std::string id = fixture.enqueue("made", ", key => 'k'");
  fixture.wait_done(1);
  const auto run = [&](const std::vector<std::string>& arguments) {
    const auto finished = command(fixture.config, arguments);
    INFO(arguments[0] << ": " << finished.out << finished.err);
    CHECK(finished.status == ExitStatus{0, 0});
    return finished.out;
  };
  CHECK_THAT(run({"check"}), !ContainsSubstring("brokers"));
  CHECK_THAT(run({"health"}), ContainsSubstring(""));
  wait_until("the lag is known", [&] {
    return json::parse(command(fixture.config, {"status", "--json"}).out)["topics"][0]["lag"] == 0;
  });
  CHECK_THAT(run({"status"}), ContainsSubstring("signup"));
  CHECK_THAT(run({"events", "show", id}), ContainsSubstring("signup"));
  CHECK_THAT(run({"events", "trace", id}), ContainsSubstring("done"));
  CHECK_THAT(run({"events", "list", "--topic", "signup"}), ContainsSubstring(id));
  CHECK_THAT(run({"verify"}), ContainsSubstring("all topics are local"));
  const auto no_log = command(fixture.config, {"verify", "--against", "kafka"});
  CHECK(no_log.status == ExitStatus{1, 0});
  CHECK_THAT(no_log.err, ContainsSubstring("there is no log to read"));
  CHECK(gauge(port, "inboxd_partition_position{topic=\"signup\",partition=\"0\"}") == 1);
  CHECK(gauge(port, "inboxd_last_poll_timestamp_seconds") == -1);
  CHECK(gauge(port, "inboxd_ingest_records_total{result=\"new\"}") == 1);
}

TEST_CASE("after a clean stop no event is said to be leased, if it is only delayed") {
  LocalFixture fixture;
  auto daemon = fixture.start();
  fixture.enqueue("made", ", key => 'k', deliver_at => clock_timestamp() + interval '1 hour'");
  fixture.enqueue("made", ", key => 'k'");  // behind it
  fixture.database.wait_for("both are stored", "select count(*) from inbox.event", 2);
  daemon->process().signal(SIGTERM);
  CHECK(daemon->process().wait() == ExitStatus{0, 0});
  daemon.reset();
  const auto status = command(fixture.config, {"status"});
  CHECK_THAT(status.out, ContainsSubstring("no daemon is running") && !ContainsSubstring("leased by daemons"));
}

TEST_CASE("a reload adds a local topic, and one that it removes still takes events") {
  LocalFixture fixture;
  const auto daemon = fixture.start();
  CHECK_THROWS_WITH(fixture.database.run("select inbox.enqueue('later', 'made', '{}')"),
                    ContainsSubstring("has declared"));
  const auto reload = [&](const std::vector<std::string>& topics, int times) {
    fixture.config.topics = topics;
    daemon->write_config(fixture.config.text());
    daemon->process().signal(SIGHUP);
    daemon->wait_log("kind=daemon.reloaded", times);
  };
  reload({"{name: signup, source: local}", "{name: later, source: local}"}, 1);
  CHECK(daemon->count_in_log("kind=daemon.restart_needed") == 0);
  fixture.database.run("select inbox.enqueue('later', 'made', '{}')");
  fixture.wait_done(1);
  reload({"{name: later, source: local}"}, 2);
  CHECK(daemon->count_in_log("kind=daemon.restart_needed") == 0);
  fixture.enqueue();
  fixture.wait_done(2);
}

TEST_CASE("a local topic may not have the name of a topic that was read from Kafka") {
  LocalFixture fixture;
  CHECK(fixture.start()->stop() == ExitStatus{0, 0});
  fixture.database.run("insert into inbox.shard (topic, partition) values ('orders', 0)");
  fixture.database.run("insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
                       "select shard_id, 0, -1, 0, 0 from inbox.shard where topic = 'orders'");
  fixture.config.topics = {"{name: orders, source: local}"};
  const auto refused = command(fixture.config, {"run"});
  CHECK(refused.status == ExitStatus{78, 0});
  CHECK_THAT(refused.err, ContainsSubstring("topic orders was read from Kafka"));
}

TEST_CASE("a handler is called within 20 ms of the application's COMMIT", "[alone]") {
  LocalFixture fixture;
  const auto daemon = fixture.start();
  fixture.enqueue();
  fixture.wait_done(1);
  std::vector<std::int64_t> took;
  for (int i = 0; i < 41; ++i) {
    const std::string id = fixture.enqueue();
    const auto committed = monotonic_ms();
    wait_until("the handler is called", [&] { return fixture.recording.calls_by_event().contains(id); });
    took.push_back(fixture.recording.all().back().monotonic_ms - committed);
  }
  std::sort(took.begin(), took.end());
  INFO("median " << took[took.size() / 2] << " ms, longest " << took.back() << " ms");
  WARN("median " << took[took.size() / 2] << " ms, longest " << took.back() << " ms");
  CHECK(took[took.size() / 2] < 20);
}
