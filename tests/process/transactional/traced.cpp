// Traces around a handler that writes: its transaction is the same one.
#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "process/support/application.hpp"
#include "process/support/stage.hpp"
#include "support/collector.hpp"
#include "support/environment.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// What a client sends to commit: the text, ended by a 0 byte.
const std::string commits{"commit\0", 7};

const std::string producers_trace = "4bf92f3577b34da6a3ce929d0e0e4736";

void trace_to(const Collector& collector, Stage& stage, const std::string& more) {
  stage.config.sections["tracing"] = "endpoint: \"" + collector.endpoint() + "\", queue: 100000, " + more;
}

std::string span_of(const std::string& handler) { return "\"name\":\"handle " + handler + "\""; }

}  // namespace

TEST_CASE("with traces on, rows and the mark that their events are done are one commit, also where it is cut") {
  const Collector collector;
  Stage stage{2};
  Application app{stage.database};
  app.create_book();
  app.run("create table app.single (event_id uuid not null, n bigint)");
  trace_to(collector, stage, "sample: 1");
  const std::vector<std::string> quick{"lease: 1s", "retry: {base: 50ms, cap: 200ms}", "concurrency: 2"};
  const auto with = [&](const std::string& more) {
    auto keys = quick;
    keys.push_back(more);
    return keys;
  };
  stage.config.handlers = {
      app.statement("set", books_each, with("events_per_call: 20")),
      app.statement("single", "insert into app.single select event_id, (body->>'n')::bigint from events",
                    with("group: 20"))};
  stage.migrate();
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  auto daemon = stage.start();
  stage.produce(200);
  // The handlers' commits, and now and then one of the settler: whichever comes.
  proxy.cut_at(commits, Proxy::Cut::after, 2, 1);
  proxy.cut_at(commits, Proxy::Cut::before, 2, 3);
  stage.produce(300);
  CHECK(stage.wait_done("set").is_perfect());
  CHECK(stage.wait_done("single").is_perfect());
  // What is in the queue of one that is killed is gone with it.
  wait_until("the spans of these have arrived",
             [&] { return collector.count(span_of("set")) >= 500 && collector.count(span_of("single")) >= 500; });
  stage.produce(300);
  daemon->kill();
  daemon = stage.start();
  const Tally tally = stage.wait_done("set");
  CHECK(tally.is_perfect());
  CHECK(stage.wait_done("single").is_perfect());
  WARN(tally.text() << ", commits cut " << proxy.cuts());
  CHECK(proxy.cuts() > 0);
  CHECK(app.booked() == tally.produced);
  CHECK(app.booked_events() == tally.produced);
  CHECK(app.number("select count(*) from app.single") == tally.produced);
  CHECK(app.number("select count(distinct event_id) from app.single") == tally.produced);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(collector.count("\"name\":\"ingest ") >= 500);
}

TEST_CASE("the span of a call that was undone says so, and the one of the call that counted says what was settled") {
  const Collector collector;
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  app.run("alter table app.booked add unique (n) deferrable initially deferred");  // looked at by COMMIT
  app.run("insert into app.booked values (gen_random_uuid(), 3)");
  trace_to(collector, stage, "sample: 1");
  stage.config.handlers = {
      app.statement("set", books_each, {"group: 5", "concurrency: 1", "retry: {max_attempts: 1}"})};
  stage.produce(5);
  const auto daemon = stage.start();
  stage.database.wait_for("the culprit is dead", "select count(*) from inbox.dead_letters", 1);
  app.wait_for("the others are booked", "select count(*) from app.booked", 5);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(collector.count("\"stringValue\":\"done\"") == 4);
  CHECK(collector.count("\"stringValue\":\"undone\"") >= 1);
}

TEST_CASE(
    "a failing statement's span says so, its rows are gone; events are traced though nobody needs their content") {
  const Collector collector;
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  // By the producer's flag alone: that is in a header, and a claim of large calls leaves those in the database.
  trace_to(collector, stage, "relation: parent");
  stage.config.handlers = {
      app.statement("set", books_each, {"events_per_call: 500"}),
      app.statement("failing",
                    "with kept as (insert into app.booked (event_id, n) select event_id, -1 from events returning 1) "
                    "select 1 / (count(*) - count(*)) from kept",
                    {"events_per_call: 500", "retry: {max_attempts: 1}"})};
  const auto daemon = stage.start();
  daemon->process().signal(SIGUSR1);
  daemon->wait_log("daemon: all handlers are paused");
  stage.produce(300);
  const std::string id = "0190a5c4-0000-4000-8000-0000000000ab";
  Message traced = event_message(stage.topic, id, R"({"n": 7})");
  traced.headers.emplace_back("traceparent", "00-" + producers_trace + "-00f067aa0ba902b7-01");
  stage.kafka.produce({traced});
  stage.note({id});
  stage.wait_stored(301);
  daemon->process().signal(SIGUSR2);
  CHECK(stage.wait_done("set").is_perfect());
  stage.database.wait_for("the other one has given up",
                          "select count(*) from inbox.deliveries where handler = 'failing' and state = 'dead'", 301);
  CHECK(app.booked() == 301);
  CHECK(app.number("select count(*) from app.booked where n = -1") == 0);
  wait_until("the spans have arrived",
             [&] { return collector.count(span_of("set")) >= 1 && collector.count(span_of("failing")) >= 1; });
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(collector.count(span_of("set")) == 1);
  CHECK(collector.count(span_of("failing")) >= 1);
  CHECK(collector.count("\"traceId\":\"" + producers_trace + "\"") == collector.count("\"spanId\""));
  CHECK(collector.count("\"stringValue\":\"dead\"") + collector.count("\"stringValue\":\"retry\"") >= 1);
}
