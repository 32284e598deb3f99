#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/collector.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// The bytes of a client's COMMIT: the text and a 0 byte.
const std::string commits{"commit\0", 7};

const std::string producers_trace = "4bf92f3577b34da6a3ce929d0e0e4736";

void trace_to(const Collector& collector, DaemonFixture& fixture, const std::string& more) {
  fixture.config.sections["tracing"] = "endpoint: \"" + collector.endpoint() + "\", queue: 100000, " + more;
}

std::string span_of(const std::string& handler) { return "\"name\":\"handle " + handler + "\""; }

}  // namespace

TEST_CASE("with traces on, rows and outcomes are one commit, also if it is cut") {
  const Collector collector;
  DaemonFixture fixture{2};
  Application app{fixture.database};
  app.create_table();
  app.run("create table app.single (event_id uuid not null, n bigint)");
  trace_to(collector, fixture, "sample: 1");
  const std::vector<std::string> quick{"lease: 1s", "retry: {base: 50ms, cap: 200ms}", "concurrency: 2"};
  const auto with = [&](const std::string& more) {
    auto keys = quick;
    keys.push_back(more);
    return keys;
  };
  fixture.config.handlers = {
      app.statement("set", insert_each, with("events_per_call: 20")),
      app.statement("single", "insert into app.single select event_id, (body->>'n')::bigint from events",
                    with("group: 20"))};
  fixture.migrate();
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  auto daemon = fixture.start();
  fixture.produce(200);
  // Commits of the handlers, and sometimes a commit of the settler.
  proxy.cut_at(commits, Proxy::Cut::after, 2, 1);
  proxy.cut_at(commits, Proxy::Cut::before, 2, 3);
  fixture.produce(300);
  CHECK(fixture.wait_done("set").is_perfect());
  CHECK(fixture.wait_done("single").is_perfect());
  // Queued spans of a killed instance are lost.
  wait_until("the spans of these have arrived",
             [&] { return collector.count(span_of("set")) >= 500 && collector.count(span_of("single")) >= 500; });
  fixture.produce(300);
  daemon->kill();
  daemon = fixture.start();
  const EventCounts counts = fixture.wait_done("set");
  CHECK(counts.is_perfect());
  CHECK(fixture.wait_done("single").is_perfect());
  WARN(counts.text() << ", commits cut " << proxy.cuts());
  CHECK(proxy.cuts() > 0);
  CHECK(app.applied() == counts.produced);
  CHECK(app.applied_events() == counts.produced);
  CHECK(app.number("select count(*) from app.single") == counts.produced);
  CHECK(app.number("select count(distinct event_id) from app.single") == counts.produced);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(collector.count("\"name\":\"ingest ") >= 500);
}

TEST_CASE("the span of an undone call is marked, and the span of the repeated call has the settled outcome") {
  const Collector collector;
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  app.run("alter table app.applied add unique (n) deferrable initially deferred");  // checked by COMMIT
  app.run("insert into app.applied values (gen_random_uuid(), 3)");
  trace_to(collector, fixture, "sample: 1");
  fixture.config.handlers = {
      app.statement("set", insert_each, {"group: 5", "concurrency: 1", "retry: {max_attempts: 1}"})};
  fixture.produce(5);
  const auto daemon = fixture.start();
  fixture.database.wait_for("the culprit is dead", "select count(*) from inbox.dead_letters", 1);
  app.wait_for("the others are applied", "select count(*) from app.applied", 5);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(collector.count("\"stringValue\":\"done\"") == 4);
  CHECK(collector.count("\"stringValue\":\"undone\"") >= 1);
}

TEST_CASE(
    "a failing statement's span is marked and its rows roll back; events are traced without reading their content") {
  const Collector collector;
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  // By the producer's flag alone, which is in a header: a claim of large calls leaves headers in the database.
  trace_to(collector, fixture, "relation: parent");
  fixture.config.handlers = {
      app.statement("set", insert_each, {"events_per_call: 500"}),
      app.statement("failing",
                    "with kept as (insert into app.applied (event_id, n) select event_id, -1 from events returning 1) "
                    "select 1 / (count(*) - count(*)) from kept",
                    {"events_per_call: 500", "retry: {max_attempts: 1}"})};
  const auto daemon = fixture.start();
  daemon->process().signal(SIGUSR1);
  daemon->wait_log("kind=daemon.handlers_paused");
  fixture.produce(300);
  const std::string id = "0190a5c4-0000-4000-8000-0000000000ab";
  Message traced = event_message(fixture.topic, id, R"({"n": 7})");
  traced.headers.emplace_back("traceparent", "00-" + producers_trace + "-00f067aa0ba902b7-01");
  fixture.kafka.produce({traced});
  fixture.note({id});
  fixture.wait_stored(301);
  daemon->process().signal(SIGUSR2);
  CHECK(fixture.wait_done("set").is_perfect());
  fixture.database.wait_for("the other one has given up",
                            "select count(*) from inbox.deliveries where handler = 'failing' and state = 'dead'", 301);
  CHECK(app.applied() == 301);
  CHECK(app.number("select count(*) from app.applied where n = -1") == 0);
  wait_until("the spans have arrived",
             [&] { return collector.count(span_of("set")) >= 1 && collector.count(span_of("failing")) >= 1; });
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(collector.count(span_of("set")) == 1);
  CHECK(collector.count(span_of("failing")) >= 1);
  CHECK(collector.count("\"traceId\":\"" + producers_trace + "\"") == collector.count("\"spanId\""));
  CHECK(collector.count("\"stringValue\":\"dead\"") + collector.count("\"stringValue\":\"retry\"") >= 1);
}
