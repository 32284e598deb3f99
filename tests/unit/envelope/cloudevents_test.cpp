#include "library_records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::EnvelopeKind;
using config::OnMissingId;

namespace {

constexpr std::string_view in_json =
    R"({"specversion":"1.0","id":"A234-1234-1234","source":"/mycontext","type":"com.example.order",)"
    R"("subject":"order-7","time":"2024-05-01T12:00:00.25Z","data":{"id":"another"}})";

Headers binary(Headers more = {}) {
  Headers out{{"ce_specversion", "1.0"}, {"ce_id", "A234-1234-1234"}, {"ce_source", "/mycontext"},
              {"ce_type", "com.example.order"}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

/// UUIDv5 of ("source", "/mycontext", "A234-1234-1234"), computed by another implementation.
constexpr std::string_view the_id = "a1e87598-535c-5cf9-9f2f-e03f686a5f7a";

event::Record structured(std::string_view json, std::string_view type = "application/cloudevents+json") {
  return with_headers({{"content-type", type}}, json);
}

}  // namespace

TEST_CASE("a binary CloudEvent is its source and its id") {
  const Outcome outcome{with_headers(binary({{"ce_subject", "order-7"}, {"ce_time", "2024-05-01T12:00:00.25Z"}}))};
  const event::Event& event = outcome.event();
  CHECK(outcome.id() == the_id);
  CHECK(event.source_id == "A234-1234-1234"sv);
  CHECK(event.event_type == "com.example.order");
  CHECK(event.source == "/mycontext"sv);
  CHECK(event.subject == "order-7"sv);
  CHECK(event.occurred_at == 1714564800250000);
  CHECK(event.offset == 41);
  CHECK(event.key == "k-1"sv);
  CHECK(event.payload == R"({"a":1})"sv);
  CHECK(event.kafka_timestamp == 1'700'000'000'000'000);
}

TEST_CASE("a structured CloudEvent and plain JSON are the same event as the binary CloudEvent") {
  for (const event::Record& record :
       {structured(in_json), structured(in_json, "application/json"), record(in_json), with_headers(binary())}) {
    const Outcome outcome{record};
    CHECK(outcome.id() == the_id);
    CHECK(outcome.event().source_id == "A234-1234-1234"sv);
    CHECK(outcome.event().event_type == "com.example.order");
  }
  const Outcome outcome{structured(in_json)};
  CHECK(outcome.event().subject == "order-7"sv);
  CHECK(outcome.event().occurred_at == 1714564800250000);
  CHECK(outcome.event().payload == in_json);
}

// fault: same id from two sources
TEST_CASE("the same id from two sources is two events, from the same source a single event") {
  const auto id = [](std::string_view source, std::string_view event_id) {
    return Outcome{with_headers({{"ce_specversion", "1.0"}, {"ce_id", event_id}, {"ce_source", source}})}.id();
  };
  CHECK(id("/a", "1") != id("/b", "1"));
  CHECK(id("/a", "1") == id("/a", "1"));
  CHECK(id("/a", "1") != id("/a", "2"));
  CHECK(id("/a:1", "1") != id("/a", ":11"));
  CHECK(id("/a,1:1", "1") != id("/a", "1:1,1"));
}

TEST_CASE("a CloudEvent whose id is a UUID still needs its source") {
  const auto outcome = [](std::string_view source) {
    return Outcome{with_headers({{"ce_id", a_uuid}, {"ce_source", source}, {"ce_type", "t"}})};
  };
  CHECK(outcome("/a").id() != a_uuid);
  CHECK(outcome("/a").id() != outcome("/b").id());
  CHECK(outcome("/a").event().source_id == a_uuid);
}

TEST_CASE("an id that is no UUID is never made random") {
  CHECK(Outcome{with_headers(binary())}.id() == Outcome{with_headers(binary())}.id());
}

TEST_CASE("the headers of a binary CloudEvent may be written with a hyphen") {
  const Outcome outcome{with_headers({{"ce-specversion", "1.0"}, {"ce-id", "A234-1234-1234"},
                                      {"ce-source", "/mycontext"}, {"ce-type", "com.example.order"}})};
  CHECK(outcome.id() == the_id);
}

TEST_CASE("of repeated CloudEvents headers the last wins") {
  const Outcome outcome{with_headers({{"ce_id", "old"}, {"ce_source", "/old"}, {"ce_type", "t"}, {"ce_id", "new"},
                                      {"ce_source", "/mycontext"}, {"ce_id", "A234-1234-1234"}})};
  CHECK(outcome.id() == the_id);
}

TEST_CASE("old Spring's JSON-quoted headers are read without their quotes") {
  const Outcome outcome{with_headers({{"ce_specversion", R"("1.0")"}, {"ce_id", R"("A234-1234-1234")"},
                                      {"ce_source", R"("/mycontext")"}, {"ce_type", R"("com.\u0065xample.order")"}})};
  CHECK(outcome.id() == the_id);
  CHECK(outcome.event().event_type == "com.example.order");
}

TEST_CASE("the content type is known in any case and with parameters") {
  for (const std::string_view type : {"application/cloudevents+json; charset=UTF-8", "application/cloudevents",
                                      "APPLICATION/CloudEvents+JSON", " application/cloudevents;a=b",
                                      R"("application/cloudevents+json")"}) {
    INFO(type);
    CHECK(Outcome{structured(in_json, type), rules(EnvelopeKind::cloudevents)}.id() == the_id);
  }
  CHECK(Outcome{with_headers({{"Content-Type", "application/cloudevents+json"}}, in_json)}.id() == the_id);
}

TEST_CASE("an unreadable structured CloudEvent is quarantined, even with on_missing_id") {
  for (const OnMissingId policy : {OnMissingId::quarantine, OnMissingId::position, OnMissingId::digest}) {
    const TopicRules by = rules(EnvelopeKind::automatic, policy);
    CHECK(Outcome{structured("{\"id\":"), by}.reason() == "undecodable");
    CHECK(Outcome{structured(""), by}.reason() == "undecodable");
    CHECK(Outcome{structured("[]", "application/cloudevents-batch+json"), by}.rejection() ==
          "undecodable: a batch of CloudEvents in one record: a record is one event");
    CHECK(Outcome{structured(in_json, "application/cloudevents+avro"), by}.reason() == "undecodable");
  }
}

TEST_CASE("a CloudEvent without id or source has no identity") {
  const auto reason = [](Headers headers) { return Outcome{with_headers(std::move(headers))}.rejection(); };
  CHECK(reason({{"ce_specversion", "1.0"}, {"ce_source", "/a"}, {"ce_type", "t"}}) ==
        "no_id: a CloudEvent without id");
  CHECK(reason({{"ce_id", std::nullopt}, {"ce_source", "/a"}}) == "no_id: a CloudEvent without id");
  CHECK(reason({{"ce_id", "1"}, {"ce_type", "t"}}) == "no_id: a CloudEvent without source, half of its identity");
  CHECK(reason({{"ce_id", "1"}, {"ce_source", ""}}) == "no_id: a CloudEvent without source, half of its identity");
  CHECK(Outcome{structured(R"({"specversion":"1.0","id":null,"source":"/a"})")}.reason() == "no_id");
  CHECK(Outcome{with_headers({{"content-type", "application/cloudevents+json"}}, std::nullopt)}.reason() == "no_id");
}

TEST_CASE("a CloudEvent whose identity came from its position keeps its attributes") {
  const Outcome outcome{with_headers({{"ce_specversion", "1.0"}, {"ce_source", "/a"}, {"ce_type", "t"}}),
                        rules(EnvelopeKind::automatic, OnMissingId::position)};
  CHECK(outcome.event().event_type == "t");
  CHECK(outcome.event().source == "/a"sv);
  CHECK_FALSE(outcome.event().source_id);
}

TEST_CASE("a bad id is quarantined even where the source is missing, too") {
  const TopicRules by = rules(EnvelopeKind::automatic, OnMissingId::position);
  CHECK(Outcome{with_headers({{"ce_id", "a\0b"sv}}), by}.reason() == "bad_id");
}

TEST_CASE("a CloudEvent without type gets the topic as its type") {
  CHECK(Outcome{with_headers({{"ce_id", "1"}, {"ce_source", "/a"}})}.event().event_type == "orders");
  CHECK(Outcome{with_headers({{"ce_id", "1"}, {"ce_source", "/a"}, {"ce_type", ""}})}.event().event_type == "orders");
}

TEST_CASE("a CloudEvent's id must be a string") {
  const auto rejection = [](std::string_view id) {
    return Outcome{structured(std::string{R"({"specversion":"1.0","source":"/a","type":"t","id":)"}.append(id) + "}")}
        .rejection();
  };
  CHECK(rejection("7") == "bad_id: the id is a number, not a string");
  CHECK(rejection("true") == "bad_id: the id is not a string");
  CHECK(rejection("{}") == "bad_id: the id is not a string");
  CHECK(rejection("[1]") == "bad_id: the id is not a string");
  CHECK(rejection(R"("\ud800")").starts_with("bad_id"));
  CHECK(rejection(R"("\udc00")").starts_with("bad_id"));
  CHECK(rejection(R"("a\u0000b")") == "bad_id: the id has control characters");
  CHECK(rejection(R"("")") == "bad_id: the id is empty");
  CHECK(rejection(R"("x)").starts_with("undecodable"));
}

TEST_CASE("an attribute that the database cannot hold is quarantined") {
  const auto reason = [](std::string_view name, std::string_view value) {
    return Outcome{with_headers(binary({{name, value}}))}.reason();
  };
  CHECK(reason("ce_type", "a\0b"sv) == "undecodable");
  CHECK(reason("ce_source", "\xFF") == "undecodable");
  CHECK(reason("ce_subject", "\xED\xA0\x80") == "undecodable");
  CHECK(reason("ce_type", std::string(1025, 'x')) == "undecodable");
  CHECK(reason("ce_type", std::string(1024, 'x')) == "");
  CHECK(Outcome{structured(R"({"specversion":"1.0","id":"1","source":"/a","type":5})")}.rejection() ==
        "undecodable: type is not a string");
}

TEST_CASE("only all of specversion, id, source and type make plain JSON a CloudEvent") {
  for (const std::string_view json :
       {R"({"id":"1","source":"/a","type":"t"})", R"({"specversion":"1.0","source":"/a","type":"t"})",
        R"({"specversion":"1.0","id":"1","type":"t"})", R"({"specversion":"1.0","id":"1","source":"/a"})",
        R"({"specversion":1.0,"id":"1","source":"/a","type":"t"})",
        R"({"specversion":"1.0","id":null,"source":"/a","type":"t"})",
        R"({"data":{"specversion":"1.0","id":"1","source":"/a","type":"t"}})",
        R"([{"specversion":"1.0","id":"1","source":"/a","type":"t"}])",
        R"({"specversion":"1.0","id":"1","source":"/a","type":"t"} and more)",
        R"({"specversion":"1.0","id":"1","source":"/a","type":"t")"}) {
    INFO(json);
    CHECK(Outcome{record(json)}.reason() == "no_id");
  }
}

TEST_CASE("a CloudEvent that a converter has wrapped is still a CloudEvent, unless the topic says unwrap: none") {
  const std::string in_string =
      R"("{\"specversion\":\"1.0\",\"id\":\"A234-1234-1234\",\"source\":\"/mycontext\",\"type\":\"t\"}")";
  const std::string with_schema = R"({"schema":{"type":"string"},"payload":)" + in_string + "}";
  TopicRules none = rules();
  none.topic.unwrap = config::Unwrap::none;
  for (const std::string& payload : {in_string, with_schema}) {
    INFO(payload);
    CHECK(Outcome{record(payload)}.id() == the_id);
    CHECK(Outcome{with_headers({{"id", "other"}}, payload)}.id() == the_id);
    CHECK(Outcome{record(payload), none}.reason() == "no_id");
  }
}

TEST_CASE("a CloudEvent after a schema id or a byte order mark is read, and its bytes are kept") {
  const std::string confluent = std::string("\0\0\0\0\7", 5).append(in_json);
  const std::string marked = std::string{"\xEF\xBB\xBF"}.append(in_json);
  for (const std::string& payload : {confluent, marked}) {
    const Outcome outcome{record(payload)};
    CHECK(outcome.id() == the_id);
    CHECK(outcome.event().payload == std::string_view{payload});
  }
}

TEST_CASE("an impossible time is left out and the event kept") {
  for (const std::string_view time :
       {"yesterday"sv, ""sv, "2024-13-01T00:00:00Z"sv, "1714564800"sv, "\xFF"sv, "a\0"sv}) {
    const Outcome outcome{with_headers(binary({{"ce_time", time}}))};
    CHECK_FALSE(outcome.event().occurred_at);
  }
  CHECK_FALSE(Outcome{structured(R"({"id":"1","source":"/a","type":"t","time":5})")}.event().occurred_at);
}

TEST_CASE("a topic that names CloudEvents reads nothing else") {
  CHECK(Outcome{with_headers({{"id", a_uuid}}), rules(EnvelopeKind::cloudevents)}.reason() == "no_id");
  CHECK(Outcome{with_headers(binary()), rules(EnvelopeKind::cloudevents)}.id() == the_id);
}

TEST_CASE("CloudEvents as their libraries for Python, JavaScript, Java and Go write them are the same event") {
  for (const WrittenRecord& written :
       {python_binary(), python_structured(), javascript_binary(), javascript_structured(), java_binary(),
        java_structured(), go_binary(), go_structured()}) {
    const Outcome outcome{record_of(written), strict_rules()};
    CHECK(outcome.id() == the_id);
    CHECK(outcome.event().event_type == "com.example.order");
    CHECK(outcome.event().subject == "order-7"sv);
    CHECK(outcome.event().occurred_at == 1714564800250000);
    CHECK(Outcome{record_of(written)}.id() == the_id);
    CHECK(Outcome{record_of(written), rules(EnvelopeKind::cloudevents)}.id() == the_id);
  }
}

TEST_CASE("a message of Dapr is the CloudEvent that its value is, under the name of its own") {
  const WrittenRecord written = dapr();
  const Outcome outcome{record_of(written), strict_rules()};
  CHECK(outcome.id() == the_id);
  CHECK(outcome.event().event_type == "com.dapr.event.sent");
  CHECK(outcome.event().source == "/mycontext"sv);
  CHECK(outcome.event().subject == "order-7"sv);
  CHECK(outcome.event().occurred_at == 1714564800000000);
  CHECK(Outcome{record_of(written)}.id() == the_id);
  CHECK(Outcome{record_of(written), rules(EnvelopeKind::dapr)}.id() == the_id);
  CHECK(Outcome{record_of(written), rules(EnvelopeKind::cloudevents)}.id() == the_id);
  CHECK(Outcome{record(in_json), rules(EnvelopeKind::dapr)}.reason() == "no_id");
}

TEST_CASE("CloudEvents that were sent as AMQP and read from Event Hubs are the same event") {
  const Headers headers{{"cloudEvents:specversion", "\xA1\x03" "1.0"},
                        {"cloudEvents:id", "\xA1\x0E" "A234-1234-1234"},
                        {"cloudEvents:source", "\xA1\x0A/mycontext"},
                        {"cloudEvents_type", "\xA1\x11" "com.example.order"},
                        {"cloudEvents:time", "\x83\x00\x00\x01\x8F\x34\x6D\x34\xFA"sv}};
  const Outcome outcome{with_headers(headers)};
  CHECK(outcome.id() == the_id);
  CHECK(outcome.event().event_type == "com.example.order");
  CHECK(outcome.event().occurred_at == 0x018F346D34FA * 1000);
}

TEST_CASE("headers that a replicator adds do not change how a record is read") {
  CHECK(Outcome{with_headers(binary({{"mskReplicator", "\x00\x01"sv}, {"x-opt-partition-key", "\xA1\x01k"}}))}.id() ==
        the_id);
}

TEST_CASE("under strict a CloudEvent without a required attribute is quarantined") {
  TopicRules strict = rules(EnvelopeKind::automatic, OnMissingId::position);
  strict.topic.strict = true;
  const auto rejection = [&](Headers headers) { return Outcome{with_headers(std::move(headers)), strict}.rejection(); };
  CHECK(rejection(binary()).empty());
  CHECK(rejection({{"ce_specversion", "1.0"}, {"ce_id", "1"}, {"ce_source", "/a"}}) ==
        "undecodable: a CloudEvent without type (topics[].strict)");
  CHECK(rejection({{"ce_specversion", "1.0"}, {"ce_id", "1"}, {"ce_type", "t"}}) ==
        "undecodable: a CloudEvent without source (topics[].strict)");
  CHECK(rejection({{"ce_id", "1"}, {"ce_source", "/a"}, {"ce_type", "t"}}) ==
        "undecodable: a CloudEvent without specversion (topics[].strict)");
  CHECK(Outcome{structured(R"({"id":"1","source":"/a","type":"t"})"), strict}.reason() == "undecodable");
  CHECK(Outcome{structured(in_json), strict}.id() == the_id);
}
