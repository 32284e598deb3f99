#include "records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::CustomRules;

namespace {

TopicRules id_at(std::string place) {
  CustomRules rules;
  rules.id = std::move(place);
  return custom_rules(std::move(rules));
}

TopicRules id_and_source_in_headers() {
  TopicRules out = id_at("header:id");
  out.topic.custom.source = "header:from";
  return out;
}

TopicRules id_and_time_in_value() {
  TopicRules out = id_at("json:/id");
  out.topic.custom.time = "json:/at";
  return out;
}

Outcome by_json(std::string_view payload, std::string pointer) {
  return Outcome{record(payload), id_at("json:" + pointer)};
}

Outcome by_key(event::MaybeBytes key) {
  return Outcome{record("x", key), id_at("key")};
}

std::string found(std::string_view payload, std::string pointer) {
  const Outcome outcome = by_json(payload, std::move(pointer));
  return outcome.is_event() ? std::string{outcome.event().source_id.value_or("(uuid)")} : outcome.reason();
}

}  // namespace

TEST_CASE("custom rules find each part where the operator says") {
  event::Record record = with_headers({{"kind", "OrderPlaced"}, {"at", "2024-05-01T12:00:00.25Z"}},
                                      R"({"order":{"id":"o-1"},"shop":"berlin"})");
  const Outcome outcome{record, custom_rules({.id = "json:/order/id", .type = "header:kind", .source = "json:/shop",
                                              .subject = "key", .time = "header:at"})};
  const event::Event& event = outcome.event();
  CHECK(event.source_id == "o-1"sv);
  CHECK(event.event_type == "OrderPlaced");
  CHECK(event.source == "berlin"sv);
  CHECK(event.subject == "k-1"sv);
  CHECK(event.occurred_at == 1714564800250000);
}

TEST_CASE("a UUID found by a custom rule is the event's id, with a source or without") {
  CHECK(by_key(a_uuid).id() == a_uuid);
  CHECK_FALSE(by_key(a_uuid).event().source_id);
  event::Record record = with_headers({{"id", a_uuid}, {"from", "/a"}});
  CHECK(Outcome{record, id_and_source_in_headers()}
            .id() == a_uuid);
}

TEST_CASE("an id that is no UUID counts within its source, or within its topic where there is none") {
  const auto id = [](event::MaybeBytes source, std::string_view topic) {
    event::Record record = with_headers({{"id", "42"}, {"from", source}});
    record.topic = topic;
    return Outcome{record,
                   id_and_source_in_headers()}
        .id();
  };
  CHECK(id("/a", "orders") != id("/b", "orders"));
  CHECK(id("/a", "orders") == id("/a", "payments"));
  CHECK(id(std::nullopt, "orders") == "b152975e-882b-53d5-8ee1-052ef1f250db");
  CHECK(id("", "orders") == id(std::nullopt, "orders"));
  CHECK(id(std::nullopt, "orders") != id(std::nullopt, "payments"));
}

TEST_CASE("a JSON pointer is followed through objects, arrays and escapes") {
  CHECK(found(R"({"a":{"b":[{"c":"x"},{"c":"y"}]}})", "/a/b/1/c") == "y");
  CHECK(found(R"([["x","y"],["z"]])", "/0/1") == "y");
  CHECK(found(R"({"a/b":{"~":"x"}})", "/a~1b/~0") == "x");
  CHECK(found(R"({"":{"":"x"}})", "//") == "x");
  CHECK(found(R"({"\u0061":"x"})", "/a") == "x");
  CHECK(found(R"({"a":"\u00fc\n"})", "/a") == "bad_id");
  CHECK(found(R"({"a":"\u00fc\/\ud83d\ude00"})", "/a") == "ü/😀");
  CHECK(found(R"({"a":{"0":"x"}})", "/a/0") == "x");
  CHECK(found("  {\"a\" : \"x\" }\r\n", "/a") == "x");
  CHECK(found("\xEF\xBB\xBF{\"a\":\"x\"}", "/a") == "x");
  CHECK(found(std::string("\0\0\0\0\7{\"a\":\"x\"}", 14), "/a") == "x");
}

TEST_CASE("a pointer without a target finds no id") {
  for (const std::string pointer : {"/b", "/a/b", "/a/0", "/c/00", "/c/01", "/c/2", "/c/-", "/c/x", "/c/+1", "/A", "/",
                                    "a", "", "/c/18446744073709551616"}) {
    INFO(pointer);
    CHECK(found(R"({"a":"x","c":["y","z"]})", pointer) == "no_id");
  }
  CHECK(found(R"("x")", "/a") == "no_id");
  CHECK(found("7", "/a") == "no_id");
}

TEST_CASE("of repeated keys the last counts, at every depth") {
  CHECK(found(R"({"a":"1","a":"2"})", "/a") == "2");
  CHECK(found(R"({"a":{"b":"1"},"a":{"b":"2"}})", "/a/b") == "2");
  CHECK(found(R"({"a":{"b":"1"},"a":{}})", "/a/b") == "no_id");
  CHECK(found(R"({"a":{"b":"1"},"a":7})", "/a/b") == "no_id");
  CHECK(found(R"({"a":"1","\u0061":"2"})", "/a") == "2");
  CHECK(found(R"({"a":"1","a":null})", "/a") == "no_id");
}

TEST_CASE("a number is an id as it is written") {
  CHECK(found(R"({"a":42})", "/a") == "42");
  CHECK(found(R"({"a":-0.50E+3 , "b":1})", "/a") == "-0.50E+3");
  CHECK(found(R"({"a":123456789012345678901234567890})", "/a") == "123456789012345678901234567890");
  CHECK(found(R"({"a":1e131072})", "/a") == "1e131072");
  CHECK(found("{\"a\":1" + std::string(300, '0') + "}", "/a") == "bad_id");
  for (const std::string_view no : {"01", "1.", ".5", "-", "1e", "0x1", "1_0", "1a"}) {
    INFO(no);
    const std::string reason = found(std::string{"{\"a\":"}.append(no) + "}", "/a");
    CHECK((reason == "bad_id" || reason == "no_id"));
  }
}

TEST_CASE("true, an object and an array are bad ids; null is a missing id, and so is any in a value that is no JSON") {
  CHECK(found(R"({"a":true})", "/a") == "bad_id");
  CHECK(found(R"({"a":{"b":1}})", "/a") == "bad_id");
  CHECK(found(R"({"a":[]})", "/a") == "bad_id");
  CHECK(found(R"({"a":null})", "/a") == "no_id");
  CHECK(found(R"({"a":nul})", "/a") == "no_id");
}

TEST_CASE("a pointer may lead through the value that another finds") {
  const Outcome outcome{record(R"({"order":{"id":"o-1"},"type":["t"]})"),
                        custom_rules({.id = "json:/order/id", .type = "json:/type/0", .source = {},
                                      .subject = "json:/order/id", .time = {}})};
  CHECK(outcome.event().source_id == "o-1"sv);
  CHECK(outcome.event().subject == "o-1"sv);
  CHECK(outcome.event().event_type == "t");
  CHECK(Outcome{record(R"({"a":{"b":"x"}})"),
                custom_rules({.id = "json:/a/b", .type = "json:/a", .source = {}, .subject = {}, .time = {}})}
            .rejection() == "undecodable: type is not a string");
}

TEST_CASE("a value that is not JSON has no id, and the reason says so") {
  CHECK(by_json("plain text", "/a").rejection().starts_with("no_id: no id at json:/a: "));
  CHECK(Outcome{record(std::nullopt), id_at("json:/a")}
            .rejection() == "no_id: no id at json:/a: the value is null");
  CHECK(Outcome{record(), custom_rules({})}.rejection() == "no_id: the topic's custom rules set no place for the id");
  TopicRules by = id_at("json:/a");
  by.topic.on_missing_id = config::OnMissingId::position;
  CHECK(Outcome{record("plain text"), by}.is_event());
}

TEST_CASE("the key as an id must be text") {
  CHECK(by_key("k-1").event().source_id == "k-1"sv);
  CHECK(by_key(std::nullopt).reason() == "no_id");
  CHECK(by_key(""sv).reason() == "bad_id");
  CHECK(by_key("\0\0\0\0\7"sv).reason() == "bad_id");
  CHECK(by_key(R"("550e8400-e29b-41d4-a716-446655440000")").id() == a_uuid);
}

TEST_CASE("a header that is missing or null leaves its part out") {
  const auto by = custom_rules({.id = "header:id", .type = "header:t", .source = "header:s", .subject = "header:u",
                                .time = "header:w"});
  const Outcome outcome{with_headers({{"id", "1"}, {"t", std::nullopt}}), by};
  CHECK(outcome.event().event_type == "orders");
  CHECK_FALSE(outcome.event().source);
  CHECK_FALSE(outcome.event().subject);
  CHECK_FALSE(outcome.event().occurred_at);
  CHECK(Outcome{with_headers({{"ID", "1"}}), by}.reason() == "no_id");
}

TEST_CASE("a custom time is RFC 3339 or a number; impossible times are left out") {
  const auto time = [](std::string_view json) {
    const Outcome outcome{record(std::string{R"({"id":"1","at":)"}.append(json) + "}"),
                          id_and_time_in_value()};
    return outcome.event().occurred_at;
  };
  CHECK(time(R"("2024-05-01T12:00:00.25Z")") == 1714564800250000);
  CHECK(time("1714564800250") == 1714564800250000);
  CHECK(time(R"("1714564800250")") == 1714564800250000);
  CHECK(time("1714564800") == 1714564800000000);
  CHECK(time("-1") == -1000000);
  for (const std::string_view absurd :
       {"99999999999999999999", "1e300", "true", "{}", "null", R"("")", R"("soon")"}) {
    INFO(absurd);
    CHECK_FALSE(time(absurd));
  }
  CHECK(Outcome{record(R"({"id":"1"})"),
                id_at("json:/id")}
            .event()
            .occurred_at == 1'700'000'000'000'000);
}

TEST_CASE("an id of 16 raw bytes is a UUID in network order, or as .NET writes it") {
  const std::string bytes = "\x0b\x1c\x2d\x3e\x4f\x50\x41\x62\x83\x94\xa5\xb6\xc7\xd8\xe9\xfa";
  config::CustomRules custom;
  custom.id = "header:MessageId";
  custom.id_format = config::IdFormat::uuid_bytes;
  CHECK(Outcome{with_headers({{"MessageId", bytes}}), custom_rules(custom)}.id() ==
        "0b1c2d3e-4f50-4162-8394-a5b6c7d8e9fa");
  custom.id_format = config::IdFormat::uuid_bytes_le;
  CHECK(Outcome{with_headers({{"MessageId", bytes}}), custom_rules(custom)}.id() ==
        "3e2d1c0b-504f-6241-8394-a5b6c7d8e9fa");
  CHECK(Outcome{with_headers({{"MessageId", "short"}}), custom_rules(custom)}.reason() == "bad_id");
  CHECK(Outcome{with_headers({}), custom_rules(custom)}.reason() == "no_id");
  custom.id = "key";
  CHECK(Outcome{record("{}", bytes), custom_rules(custom)}.id() == "3e2d1c0b-504f-6241-8394-a5b6c7d8e9fa");
}

TEST_CASE("header values in AMQP's encoding are read as text") {
  using namespace std::string_literals;
  config::CustomRules custom;
  custom.id = "header:id";
  custom.time = "header:at";
  const auto id_of = [&](const std::string& value) {
    static const std::string at = "\x83\x00\x00\x01\x8f\x34\x07\x30\x00"s;
    return Outcome{with_headers({{"id", value}, {"at", at}}), custom_rules(custom)};
  };
  CHECK(id_of("\xa1\x05"s + "ord-1").event().source_id == "ord-1"sv);
  CHECK(id_of("\xb1\x00\x00\x00\x05"s + "ord-1").event().source_id == "ord-1"sv);
  CHECK(id_of("\x98\x0b\x1c\x2d\x3e\x4f\x50\x41\x62\x83\x94\xa5\xb6\xc7\xd8\xe9\xfa").id() ==
        "0b1c2d3e-4f50-4162-8394-a5b6c7d8e9fa");
  CHECK(id_of("\x81\x00\x00\x00\x00\x00\x00\x00\x07"s).event().source_id == "7"sv);
  CHECK(id_of("\xa1\x05"s + "ord-1").event().occurred_at == 0x18f34073000 * 1'000);
  CHECK(id_of("\xa1\x06"s + "ord-1").reason() == "bad_id");
}
