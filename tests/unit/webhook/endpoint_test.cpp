#include "webhook/endpoint.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>

#include "event/headers.hpp"

using namespace inboxd;
using namespace inboxd::webhook;
using Catch::Matchers::ContainsSubstring;

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Read {
  std::shared_ptr<Posted> posted;
  int refused = 0;  ///< with this status
  std::string why;
  const event::Event& event(std::size_t i = 0) const { return posted->events.at(i); }
  std::string header(std::string_view name) const {
    const auto found = event().headers ? event::find_packed(*event().headers, name) : std::nullopt;
    return found ? std::string{found->value.value_or("")} : "none";
  }
};

Read read(const Headers& headers, const std::string& body, config::Topic topic = {}) {
  topic.name = "hooks";
  admin::HttpRequest request;
  request.headers = headers;
  request.body = body;
  Read out{std::make_shared<Posted>(std::move(request), "hooks"), 0, ""};
  if (const auto refused = read_events(Endpoint{topic, ""}, 3, *out.posted)) {
    out.refused = refused->status;
    out.why = refused->body;
  }
  return out;
}

config::Topic with_scheme(config::SignatureScheme scheme) {
  config::Topic out;
  out.http.scheme = scheme;
  return out;
}

const Headers binary{{"ce-specversion", "1.0"}, {"ce-id", "A"}, {"ce-source", "/s"}, {"ce-type", "made"}};
constexpr const char* batch_type = "application/cloudevents-batch+json";

std::string cloudevent(const std::string& id, const std::string& more = "") {
  return R"({"specversion": "1.0", "id": ")" + id + R"(", "source": "/s", "type": "made")" + more + "}";
}

}  // namespace

TEST_CASE("an attribute in a header is unquoted, and its percent-encoding decoded once") {
  CHECK(attribute_text("plain text") == "plain text");
  CHECK(attribute_text("Euro%20%E2%82%AC%20%F0%9F%98%80") == "Euro \xE2\x82\xAC \xF0\x9F\x98\x80");
  CHECK(attribute_text("%2541") == "%41");
  CHECK(attribute_text("100% %4 %zz") == "100% %4 %zz");
  CHECK(attribute_text(R"("a \"b\" %22")") == R"(a "b" ")");
  CHECK(attribute_text("\"") == "\"");
}

TEST_CASE("a binary CloudEvent has its attributes as headers of Kafka's binding, and its partitionkey as key") {
  Headers headers = binary;
  headers.insert(headers.end(), {{"ce-partitionkey", "k%201"}, {"ce-subject", "%C3%A4"}, {"ce-extra", "x"},
                                 {"ce-time", "2026-01-02T03:04:05Z"}, {"content-type", "text/plain"},
                                 {"authorization", "Bearer hush"}, {"traceparent", "00-1-2-3"}});
  const auto found = read(headers, "data");
  REQUIRE(found.refused == 0);
  CHECK(found.event().event_type == "made");
  CHECK(found.event().source == "/s");
  CHECK(found.event().source_id == "A");
  CHECK(found.event().subject == "\xC3\xA4");
  CHECK(found.event().key == "k 1");
  CHECK(found.event().payload == "data");
  CHECK(found.event().occurred_at.has_value());
  CHECK(found.header("ce_extra") == "x");
  CHECK(found.header("content-type") == "text/plain");
  CHECK(found.header("traceparent") == "00-1-2-3");
  CHECK(found.header("authorization") == "none");
  const auto same = read({{"content-type", "application/cloudevents+json; charset=utf-8"}}, cloudevent("A"));
  REQUIRE(same.refused == 0);
  CHECK(same.event().event_id == found.event().event_id);
}

TEST_CASE("a structured CloudEvent keeps its bytes, and has its partitionkey as key") {
  const std::string body = cloudevent("A", R"(, "partitionkey": "k", "data": {"a":  1})");
  const auto found = read({{"content-type", "application/cloudevents+json"}}, body);
  REQUIRE(found.refused == 0);
  CHECK(found.event().payload == body);
  CHECK(found.event().key == "k");
  CHECK(found.event().event_type == "made");
}

TEST_CASE("a batch is read as a whole or not at all") {
  const std::string first = cloudevent("1", R"(, "data": "a,] b")"), second = cloudevent("2");
  const auto found = read({{"content-type", batch_type}}, "[" + first + " ,\n" + second + "]");
  REQUIRE(found.refused == 0);
  REQUIRE(found.posted->events.size() == 2);
  CHECK(found.event(0).payload == first);
  CHECK(found.event(1).payload == second);
  CHECK(found.header("content-type") == "application/cloudevents+json");
  CHECK(read({{"content-type", batch_type}}, "[]").posted->events.empty());
  const auto twice = read({{"content-type", batch_type}}, "[" + first + "," + first + "]");
  CHECK(twice.posted->events.size() == 1);
  CHECK(twice.posted->places.size() == 2);
  const auto refused = [](const std::string& body) { return read({{"content-type", batch_type}}, body); };
  CHECK(refused("[" + first + "," + cloudevent("1") + "]").refused == 409);
  CHECK_THAT(refused("[" + first + ", {}]").why, ContainsSubstring("event 1 of the batch"));
  for (const std::string body : {"", "{}", "[", "[1]", "[null]", "[{}", "[{},]", "[] []", "[\"a\"]"}) {
    CAPTURE(body);
    CHECK(refused(body).refused == 400);
  }
  CHECK(refused("[" + first + "," + second + "," + cloudevent("3") + "," + cloudevent("4") + "]").refused == 413);
}

TEST_CASE("a CloudEvent that cannot be read is refused with its reason") {
  CHECK(read({{"ce-specversion", "1.0"}, {"ce-id", "A"}}, "").refused == 400);  // without source
  CHECK(read({{"content-type", "application/cloudevents+json"}}, "no JSON").refused == 400);
  CHECK(read({{"content-type", "application/cloudevents+avro"}}, "").refused == 415);
  CHECK(read({{"content-type", "application/cloudevents-batch+xml"}}, "").refused == 415);
  Headers twice = binary;
  twice.emplace_back("ce-id", "B");
  CHECK_THAT(read(twice, "").why, ContainsSubstring("ce-id appears twice"));
  Headers bytes = binary;
  bytes.emplace_back("ce-subject", "%FF");
  CHECK_THAT(read(bytes, "").why, ContainsSubstring("not UTF-8"));
  config::Topic only;
  only.envelope = config::EnvelopeKind::cloudevents;
  CHECK(read({{"idempotency-key", "x"}}, "1", only).refused == 415);
  CHECK(read(binary, "1", only).refused == 0);
}

TEST_CASE("a plain event takes its id from Idempotency-Key, quoted or not, and its type and key from headers") {
  const auto found = read({{"idempotency-key", "\"abc\""}, {"inboxd-type", "made"}, {"inboxd-key", "k"}}, "\x01\xff");
  REQUIRE(found.refused == 0);
  CHECK(found.event().source_id == "abc");
  CHECK(found.event().event_type == "made");
  CHECK(found.event().key == "k");
  CHECK(found.event().payload == "\x01\xff");
  CHECK(!found.event().headers);
  CHECK(read({{"idempotency-key", "abc"}}, "1").event().event_id == found.event().event_id);
  CHECK(read({}, "1").refused == 400);
  CHECK(read({{"idempotency-key", ""}}, "1").refused == 400);
  const auto uuid = read({{"idempotency-key", "11111111-1111-4111-8111-111111111111"}}, "1");
  CHECK(uuid.event().event_id.text() == "11111111-1111-4111-8111-111111111111");
}

TEST_CASE("a payload above the limit is refused with the size, the limit and the key to raise") {
  config::Topic topic;
  topic.payload_limit = 10;
  const auto found = read({{"idempotency-key", "a"}}, std::string(11, 'x'), topic);
  CHECK(found.refused == 413);
  CHECK_THAT(found.why, ContainsSubstring("the payload has 11 bytes, the topic's payload_limit is 10; raise "
                                          "topics[].payload_limit") && !ContainsSubstring("digest"));
}

TEST_CASE("a form of a signed sender is refused, and with value.format: json any payload that is no JSON") {
  const Headers form{{"content-type", "application/x-www-form-urlencoded"}, {"idempotency-key", "a"}};
  for (const auto scheme : {config::SignatureScheme::github, config::SignatureScheme::stripe,
                            config::SignatureScheme::standard_webhooks}) {
    const auto found = read(form, "payload=%7B%7D", with_scheme(scheme));
    CHECK(found.refused == 415);
    CHECK_THAT(found.why, ContainsSubstring("choose application/json in the webhook's settings"));
  }
  CHECK(read(form, "a=b").refused == 0);
  CHECK(read(form, "{}", with_scheme(config::SignatureScheme::standard_webhooks)).refused != 415);  // JSON all the same
  config::Topic topic;
  topic.value.kind = config::FormatKind::json;
  CHECK(read(form, "{}", topic).refused == 0);
  for (const std::string body : {"a=b", "", "{", "\xff"}) {
    const auto found = read(form, body, topic);
    CHECK(found.refused == 400);
    CHECK_THAT(found.why, ContainsSubstring("the payload is not JSON (topics[].value.format): "));
  }
  CHECK(read(binary, "text", topic).refused == 400);
  CHECK(read({{"content-type", batch_type}}, "[" + cloudevent("1") + "]", topic).refused == 0);
}

TEST_CASE("each kind of sender has its id and type where its documentation says") {
  const auto github = read({{"x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"}, {"x-github-event", "push"}},
                           R"({"zen": "x"})", with_scheme(config::SignatureScheme::github));
  REQUIRE(github.refused == 0);
  CHECK(github.event().event_id.text() == "72d3162e-cc78-11e3-81ab-4c9367dc0958");
  CHECK(github.event().event_type == "push");
  const auto stripe = read({}, R"({"id": "evt_1", "type": "invoice.paid", "created": 1700000000})",
                           with_scheme(config::SignatureScheme::stripe));
  REQUIRE(stripe.refused == 0);
  CHECK(stripe.event().source_id == "evt_1");
  CHECK(stripe.event().event_type == "invoice.paid");
  CHECK(stripe.event().occurred_at == 1'700'000'000'000'000);
  CHECK(stripe.posted->id_decides);
  const auto standard = read({{"webhook-id", "msg_1"}}, R"({"type": "user.created"})",
                             with_scheme(config::SignatureScheme::standard_webhooks));
  REQUIRE(standard.refused == 0);
  CHECK(standard.event().source_id == "msg_1");
  CHECK(standard.event().event_type == "user.created");
  CHECK(read({{"webhook-id", "msg_1"}}, "no JSON", with_scheme(config::SignatureScheme::standard_webhooks))
            .event().event_type == "hooks");
  // A signature covers no ce- headers.
  CHECK(read(binary, "{}", with_scheme(config::SignatureScheme::github)).refused == 400);
}
