#include "trace/trail.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "event/headers.hpp"

using namespace inboxd;
using namespace inboxd::trace;
using nlohmann::json;

namespace {

/// An event with or without a trace context of its producer.
struct Fixture {
  explicit Fixture(const std::string& traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") {
    if (!traceparent.empty()) headers = event::pack_headers({{"traceparent", traceparent}});
    event.event_id = *base::parse_uuid("0190a5c4-0000-7000-8000-0000000000ab");
    event.shard_id = 3;
    event.offset = 17;
    event.event_type = "OrderPlaced";
    if (!headers.empty()) event.headers = headers;
    settings.endpoint = "http://127.0.0.1:4318";
  }
  std::string headers;
  event::Event event;
  config::Tracing settings;
};

const Origin origin{"orders", 5, "billing"};

}  // namespace

TEST_CASE("relation link: the event id is the trace id, and the ingest span links to the producer's") {
  Fixture fixture;
  const auto trail = trail_of(fixture.event, fixture.settings);
  REQUIRE(trail);
  CHECK(hex_of(trail->trace) == "0190a5c40000700080000000000000ab");
  const Span span = ingest_span(*trail, fixture.event, origin, fixture.settings);
  CHECK_FALSE(span.parent);
  REQUIRE(span.link);
  CHECK(hex_of(span.link->trace) == "4bf92f3577b34da6a3ce929d0e0e4736");
  CHECK(hex_of(span.link->span) == "00f067aa0ba902b7");
  CHECK(name_of(span) == "ingest orders");
}

TEST_CASE("relation parent: spans continue the producer's trace") {
  Fixture fixture;
  fixture.settings.relation = config::TraceRelation::parent;
  const auto trail = trail_of(fixture.event, fixture.settings);
  REQUIRE(trail);
  const Span span = ingest_span(*trail, fixture.event, origin, fixture.settings);
  CHECK(hex_of(span.trace) == "4bf92f3577b34da6a3ce929d0e0e4736");
  CHECK_FALSE(span.link);
  CHECK(hex_of(*span.parent) == "00f067aa0ba902b7");
  const Span handle = handle_span(*trail, random_span_id(), fixture.event, origin, "receipt", 2);
  CHECK(handle.trace == span.trace);
  CHECK(*handle.parent == span.id);
  CHECK(name_of(handle) == "handle receipt");
}

TEST_CASE("an attempt in another process has the same parent span, another record has its own") {
  const Fixture here;
  Fixture there;
  CHECK(trail_of(here.event, here.settings)->ingest == trail_of(there.event, there.settings)->ingest);
  there.event.offset = 18;
  CHECK(trail_of(here.event, here.settings)->ingest != trail_of(there.event, there.settings)->ingest);
}

TEST_CASE("the producer's flag decides on sampling; without a flag, the configured share does") {
  Fixture not_sampled{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"};
  not_sampled.settings.sample = 1;
  CHECK_FALSE(trail_of(not_sampled.event, not_sampled.settings));
  Fixture without{""};
  CHECK_FALSE(trail_of(without.event, without.settings));
  without.settings.sample = 1;
  const auto trail = trail_of(without.event, without.settings);
  REQUIRE(trail);
  CHECK_FALSE(ingest_span(*trail, without.event, origin, without.settings).link);

  without.settings.sample = 0.1;
  int drawn = 0;
  for (int i = 0; i < 10'000; ++i) {
    without.event.event_id = base::random_uuid();
    const bool is_drawn = trail_of(without.event, without.settings).has_value();
    CHECK(is_drawn == trail_of(without.event, without.settings).has_value());
    drawn += is_drawn ? 1 : 0;
  }
  CHECK(drawn > 800);
  CHECK(drawn < 1'200);
}

TEST_CASE("spans are sent as OTLP's JSON") {
  Fixture fixture;
  const auto trail = trail_of(fixture.event, fixture.settings);
  Span ingest = ingest_span(*trail, fixture.event, origin, fixture.settings);
  ingest.begin = Span::Time{std::chrono::microseconds{1'700'000'000'000'001}};
  ingest.end = Span::Time{std::chrono::microseconds{1'700'000'000'000'002}};
  Span handle = handle_span(*trail, SpanId{1, 2, 3, 4, 5, 6, 7, 8}, fixture.event, origin, "receipt", 2);
  handle.failure = "a \"quoted\"\nreason";
  const json document = json::parse(otlp_json({"billing", "instance-1", "1.0"}, {ingest, handle}));
  const json& resource = document.at("resourceSpans").at(0);
  CHECK(resource.at("resource").at("attributes").at(0) ==
        json{{"key", "service.name"}, {"value", {{"stringValue", "billing"}}}});
  const json& spans = resource.at("scopeSpans").at(0).at("spans");
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].at("traceId") == "0190a5c40000700080000000000000ab");
  CHECK(spans[0].at("spanId").get<std::string>().size() == 16);
  CHECK_FALSE(spans[0].contains("parentSpanId"));
  CHECK(spans[0].at("kind") == 5);
  CHECK(spans[0].at("startTimeUnixNano") == "1700000000000001000");
  CHECK(spans[0].at("endTimeUnixNano") == "1700000000000002000");
  CHECK(spans[0].at("links") ==
        json::array({{{"traceId", "4bf92f3577b34da6a3ce929d0e0e4736"}, {"spanId", "00f067aa0ba902b7"}}}));
  CHECK_FALSE(spans[0].contains("status"));
  CHECK(spans[1].at("spanId") == "0102030405060708");
  CHECK(spans[1].at("parentSpanId") == spans[0].at("spanId"));
  CHECK(spans[1].at("status") == json{{"code", 2}, {"message", "a \"quoted\"\nreason"}});
  const json& attributes = spans[1].at("attributes");
  const auto has = [&](const json& wanted) {
    return std::find(attributes.begin(), attributes.end(), wanted) != attributes.end();
  };
  CHECK(has({{"key", "messaging.kafka.offset"}, {"value", {{"intValue", "17"}}}}));
  CHECK(has({{"key", "messaging.message.id"}, {"value", {{"stringValue", "0190a5c4-0000-7000-8000-0000000000ab"}}}}));
  CHECK(has({{"key", "inboxd.attempt"}, {"value", {{"intValue", "2"}}}}));
}
