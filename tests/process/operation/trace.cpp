#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/collector.hpp"
#include "support/http.hpp"
#include "support/spans.hpp"

using namespace inboxd;
using namespace inboxd::support;
using nlohmann::json;

namespace {

const std::string producers_trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string producers_span = "00f067aa0ba902b7";
const std::string event_id = "0190a5c4-0000-4000-8000-0000000000ab";
const std::string event_trace = "0190a5c40000400080000000000000ab";

void produce_traced(DaemonFixture& fixture) {
  Message message = event_message(fixture.topic, event_id);
  message.headers.emplace_back("traceparent", "00-" + producers_trace + "-" + producers_span + "-01");
  fixture.kafka.produce({message});
}

}  // namespace

TEST_CASE(
    "a traced event has spans of ingest and each attempt, linked to the producer's, and handlers get their context") {
  const Collector collector;
  DaemonFixture fixture{1};
  fixture.config.sections["tracing"] = "endpoint: \"" + collector.endpoint() + "\", service: billing";
  fixture.config.handlers[0].more = {"retry: {base: 10ms}"};
  fixture.set("fail_first", "1");
  auto daemon = fixture.start();
  fixture.produce(20);  // without a context, not traced
  produce_traced(fixture);
  fixture.note({event_id});
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the spans have arrived", [&] { return spans_of(collector).size() >= 3; });
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto spans = spans_of(collector);
  CHECK(spans.size() == 3);

  const auto ingests = named(spans, "ingest " + fixture.topic);
  REQUIRE(ingests.size() == 1);
  const json& ingest = ingests[0];
  CHECK(ingest.at("traceId") == event_trace);
  CHECK(ingest.at("links").at(0) == json{{"traceId", producers_trace}, {"spanId", producers_span}});
  CHECK(attribute(ingest, "messaging.message.id") == event_id);
  const auto began = std::stoll(ingest.at("startTimeUnixNano").get<std::string>());
  CHECK(began <= std::stoll(ingest.at("endTimeUnixNano").get<std::string>()));

  auto attempts = named(spans, "handle recorder");
  REQUIRE(attempts.size() == 2);
  for (const json& attempt : attempts) {
    CHECK(attempt.at("traceId") == event_trace);
    CHECK(attempt.at("parentSpanId") == ingest.at("spanId"));
    const bool is_first = attribute(attempt, "inboxd.attempt") == "1";
    CHECK(attempt.contains("status") == is_first);
    CHECK(attribute(attempt, "inboxd.outcome") == (is_first ? "retry" : "done"));
    CHECK(attribute(attempt, "error.type") == (is_first ? "test.failure" : ""));
  }
  std::vector<std::string> contexts;
  for (const auto& one : fixture.recording.all()) {
    if (one.event_id == event_id)
      contexts.push_back(one.traceparent);
    else
      CHECK(one.traceparent == "-");
  }
  std::vector<std::string> wanted;
  for (const json& attempt : attempts) {
    wanted.push_back("00-" + event_trace + "-" + attempt.at("spanId").get<std::string>() + "-01");
  }
  std::sort(contexts.begin(), contexts.end());
  std::sort(wanted.begin(), wanted.end());
  CHECK(contexts == wanted);
  const json first = json::parse(collector.requests()[0].body);
  CHECK(first["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"] == "billing");
}

TEST_CASE(
    "with relation: parent spans continue the producer's trace; without an endpoint handlers get the producer's "
    "context") {
  const Collector collector;
  DaemonFixture fixture{1};
  fixture.config.sections["tracing"] = "endpoint: \"" + collector.endpoint() + "\", relation: parent";
  auto daemon = fixture.start();
  produce_traced(fixture);
  fixture.note({event_id});
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the spans have arrived", [&] { return spans_of(collector).size() >= 2; });
  daemon->stop();
  const auto spans = spans_of(collector);
  for (const json& span : spans) CHECK(span.at("traceId") == producers_trace);
  CHECK(named(spans, "ingest " + fixture.topic).at(0).at("parentSpanId") == producers_span);

  DaemonFixture off{1};
  daemon = off.start();
  produce_traced(off);
  off.note({event_id});
  CHECK(off.wait_done().is_perfect());
  CHECK(off.recording.all().at(0).traceparent == "00-" + producers_trace + "-" + producers_span + "-01");
  CHECK(spans_of(collector).size() == spans.size());
}

TEST_CASE("a message that a handler publishes has a span under its attempt, whose context the handler can send") {
  const Collector collector;
  DaemonFixture fixture{1};
  fixture.config.sections["tracing"] = "endpoint: \"" + collector.endpoint() + "\"";
  fixture.config.handlers[0].more = {"retry: {base: 10ms}"};
  fixture.set("fail_first", "1");
  fixture.set("publishes", "receipts");
  auto daemon = fixture.start();
  produce_traced(fixture);
  fixture.note({event_id});
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the spans have arrived", [&] { return spans_of(collector).size() >= 5; });
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto spans = spans_of(collector);
  const auto published = named(spans, "publish receipts");
  REQUIRE(published.size() == 2);
  const auto attempts = named(spans, "handle recorder");
  REQUIRE(attempts.size() == 2);
  for (const json& attempt : attempts) {
    const auto its = std::find_if(published.begin(), published.end(),
                                  [&](const json& span) { return span.at("parentSpanId") == attempt.at("spanId"); });
    REQUIRE(its != published.end());
    const bool is_first = attribute(attempt, "inboxd.attempt") == "1";
    CHECK(its->at("traceId") == event_trace);
    CHECK(attribute(*its, "inboxd.attempt") == attribute(attempt, "inboxd.attempt"));
    CHECK(attribute(*its, "error.type") == (is_first ? "test.away" : ""));
    const std::string context = "00-" + event_trace + "-" + its->at("spanId").get<std::string>() + "-01";
    const auto all = fixture.recording.all();
    CHECK(std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.traceparent == context; }) == 1);
  }
}

TEST_CASE("an unreachable collector delays nothing, and shows in log and metrics") {
  DaemonFixture fixture{2};
  const int port = free_port();
  fixture.config.sections["tracing"] =
      "endpoint: \"http://127.0.0.1:" + std::to_string(free_port()) + "\", sample: 1, queue: 64";
  fixture.config.sections["admin"] = "listen: \"127.0.0.1:" + std::to_string(port) + "\"";
  auto daemon = fixture.start();
  fixture.produce(2'000);
  CHECK(fixture.wait_done().is_perfect());
  daemon->wait_log("kind=trace.collector_unreachable");
  wait_until("metrics count what was dropped", [&] {
    const std::string text = get(port, "/metrics").body;
    return text.find("inboxd_trace_spans_total{outcome=\"dropped\"} ") != std::string::npos &&
           text.find("inboxd_trace_spans_total{outcome=\"dropped\"} 0\n") == std::string::npos;
  });
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
