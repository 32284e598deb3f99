// Records of messaging frameworks. Those of Axon and Spring are written by their libraries. Those of CAP, NServiceBus,
// MassTransit and Wolverine are composed by hand, as their libraries come from NuGet, which was not at hand, and those
// of Eventuate after public examples. MassTransit's and Wolverine's headers, CAP's names and the format of
// NServiceBus's time were compared with the frameworks' sources (named in frameworks.cpp).
#include <algorithm>

#include "library_records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::EnvelopeKind;

namespace {

Headers cap() {
  return {{"cap-callback-name", std::nullopt}, {"cap-msg-id", "1403333028973604864"},
          {"cap-corr-id", "1403333028973604863"}, {"cap-corr-seq", "0"}, {"cap-msg-name", "user.created"},
          {"cap-msg-type", "User"}, {"cap-senttime", "2021/6/11 20:47:21 +08:00"}};
}

Headers nservicebus() {
  return {{"NServiceBus.MessageId", "550e8400-e29b-41d4-a716-446655440000"},
          {"NServiceBus.MessageIntent", "Publish"},
          {"NServiceBus.EnclosedMessageTypes",
           "Shop.OrderPlaced, Shop, Version=1.0.0.0, Culture=neutral, PublicKeyToken=null;Shop.IEvent, Shop"},
          {"NServiceBus.OriginatingEndpoint", "Sales"},
          {"NServiceBus.TimeSent", "2024-05-01 12:00:00:250000 Z"}};
}

Headers masstransit() {
  return {{"MessageId", "550e8400-e29b-41d4-a716-446655440000"},
          {"ConversationId", "00bb0000-5d4b-0015-8e2b-08d8e7bb9c01"},
          {"DestinationAddress", "loopback://localhost/kafka/orders"},
          {"SourceAddress", "loopback://localhost/"},
          {"Content-Type", "application/vnd.masstransit+json"}};
}

Headers wolverine() {
  return {{"id", "550e8400-e29b-41d4-a716-446655440000"}, {"message-type", "Shop.OrderPlaced"},
          {"source", "shop"}, {"content-type", "application/json"}, {"sent-at", "2024-05-01 12:00:00:250000 Z"},
          {"attempts", "0"}};
}

constexpr std::string_view eventuate =
    R"({"payload":"{\"orderTotal\":{\"amount\":12.34}}","headers":{"PARTITION_ID":"1","event-aggregate-type":)"
    R"("io.shop.Order","DATE":"Wed, 1 May 2024 12:00:00 GMT","event-aggregate-id":"1",)"
    R"("event-type":"io.shop.OrderCreated","DESTINATION":"io.shop.Order",)"
    R"("ID":"0000016ff2d4d9b0-0242ac1200090000"}})";

}  // namespace

TEST_CASE("each framework's messages are recognised alone and by name, strict and permissive") {
  const std::vector<std::pair<EnvelopeKind, event::Record>> all{
      {EnvelopeKind::cap, with_headers(cap())},
      {EnvelopeKind::axon, record_of(axon())},
      {EnvelopeKind::nservicebus, with_headers(nservicebus())},
      {EnvelopeKind::masstransit, with_headers(masstransit())},
      {EnvelopeKind::wolverine, with_headers(wolverine())},
      {EnvelopeKind::eventuate, record(eventuate)}};
  for (const auto& [kind, record] : all) {
    const std::string id = Outcome{record}.id();
    CHECK(Outcome{record, strict_rules()}.id() == id);
    CHECK(Outcome{record, rules(kind)}.id() == id);
    for (const auto& [other, of_other] : all) {
      INFO("by the rules of " << static_cast<int>(kind) << ", of " << static_cast<int>(other));
      if (other != kind) CHECK(Outcome{of_other, rules(kind)}.reason() == "no_id");
    }
  }
}

TEST_CASE("a message of CAP has its snowflake as id, within its topic") {
  const Outcome outcome{with_headers(cap())};
  CHECK(outcome.event().source_id == "1403333028973604864"sv);
  CHECK(outcome.event().event_type == "user.created");
  CHECK(outcome.event().subject == "1403333028973604863"sv);
  CHECK(outcome.event().occurred_at == 1'700'000'000'000'000);  // the record's: its own time depends on the culture
}

TEST_CASE("an event of Axon has its binary timestamp") {
  WrittenRecord written = axon();
  const Outcome outcome{record_of(written), strict_rules()};
  CHECK(outcome.id() == "8c3f0a1e-55f3-4b29-9d06-3d5a4f1d8f11");
  CHECK(outcome.event().event_type == "com.shop.OrderPlaced");
  CHECK(outcome.event().subject == "order-7"sv);
  CHECK(outcome.event().occurred_at == 1714564800250000);
  const auto timestamp =
      std::find_if(written.headers.begin(), written.headers.end(),
                   [](const event::Header& header) { return header.name == "axon-message-timestamp"; });
  for (const std::string_view other : {"\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"sv, "1714564800250"sv}) {
    timestamp->value = other;
    CHECK_FALSE(Outcome{record_of(written)}.event().occurred_at);
  }
}

TEST_CASE("a message of Spring Kafka has its class as type, and its id where the application put it") {
  for (const WrittenRecord& written : {spring(), spring_with_json_headers()}) {
    TopicRules by = custom_rules({.id = "header:eventId", .type = "header:__TypeId__", .source = {}, .subject = {},
                                  .time = {}});
    by.topic.strict = true;
    const Outcome outcome{record_of(written), by};
    CHECK(outcome.id() == a_uuid);
    CHECK(outcome.event().event_type == "com.shop.OrderPlaced");
    CHECK(outcome.event().payload == R"({"orderId":"order-7","amount":12})"sv);
    CHECK(Outcome{record_of(written)}.reason() == "no_id");
    CHECK(Outcome{record_of(written), rules(EnvelopeKind::automatic, config::OnMissingId::position)}
              .event()
              .event_type == "com.shop.OrderPlaced");
  }
}

TEST_CASE("the type of a message of NServiceBus is its own class, without assembly and base classes") {
  const Outcome outcome{with_headers(nservicebus())};
  CHECK(outcome.id() == a_uuid);
  CHECK(outcome.event().event_type == "Shop.OrderPlaced");
  CHECK(outcome.event().source == "Sales"sv);
  CHECK(outcome.event().occurred_at == 1714564800250000);
}

TEST_CASE("a message of MassTransit needs a content type beside its id, unless the topic names MassTransit") {
  const Outcome outcome{with_headers(masstransit())};
  CHECK(outcome.id() == a_uuid);
  CHECK(outcome.event().event_type == "orders");
  CHECK(outcome.event().source == "loopback://localhost/"sv);
  const auto bare = with_headers({{"MessageId", a_uuid}});
  CHECK(Outcome{bare}.reason() == "no_id");
  CHECK(Outcome{bare, rules(EnvelopeKind::masstransit)}.id() == a_uuid);
  TopicRules by = rules(EnvelopeKind::masstransit);
  by.topic.strict = true;
  CHECK(Outcome{bare, by}.rejection() ==
        "undecodable: a message of MassTransit without Content-Type (topics[].strict)");
}

TEST_CASE("a message of Wolverine is told from the outbox router's by its message type") {
  const Outcome outcome{with_headers(wolverine())};
  CHECK(outcome.id() == a_uuid);
  CHECK(outcome.event().event_type == "Shop.OrderPlaced");
  CHECK(outcome.event().source == "shop"sv);
  CHECK(outcome.event().occurred_at == 1714564800250000);
}

TEST_CASE("a message of Eventuate has its id and attributes in its value") {
  const Outcome outcome{record(eventuate)};
  CHECK(outcome.event().source_id == "0000016ff2d4d9b0-0242ac1200090000"sv);
  CHECK(outcome.event().event_type == "io.shop.OrderCreated");
  CHECK(outcome.event().subject == "1"sv);
  CHECK(outcome.event().occurred_at == 1714564800000000);
  CHECK(Outcome{record(R"({"payload":"{}","headers":{"ID":"1","command_type":"c"}})")}.event().event_type == "c");
  for (const std::string_view other : {R"({"payload":{},"headers":{"ID":"1"}})", R"({"headers":{"ID":"1"}})",
                                       R"({"payload":"","headers":{"ID":1}})", R"({"payload":"","ID":"1"})"}) {
    CHECK(Outcome{record(other)}.reason() == "no_id");
  }
}

TEST_CASE("under strict a message without its type is quarantined") {
  for (const auto& [mark, id] : {std::pair{"cap-msg-id"sv, "1"sv}, {"axon-message-id"sv, a_uuid},
                                 {"NServiceBus.MessageId"sv, a_uuid}}) {
    CHECK(Outcome{with_headers({{mark, id}}), strict_rules()}.reason() == "undecodable");
    CHECK(Outcome{with_headers({{mark, id}})}.event().event_type == "orders");
    CHECK(Outcome{with_headers({{mark, std::nullopt}})}.reason() == "no_id");
    CHECK(Outcome{with_headers({{mark, "a\0b"sv}})}.reason() == "bad_id");
  }
  CHECK(Outcome{record(R"({"payload":"","headers":{"ID":"1"}})"), strict_rules()}.reason() == "undecodable");
}

TEST_CASE("the frameworks' headers are read as JSON strings, too, as old Spring versions forward them") {
  Headers headers = nservicebus();
  headers[0].value = R"("550e8400-e29b-41d4-a716-446655440000")";
  CHECK(Outcome{with_headers(headers)}.id() == a_uuid);
}
