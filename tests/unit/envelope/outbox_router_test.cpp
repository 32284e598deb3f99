#include "records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::EnvelopeKind;
using config::OnMissingId;

namespace {

Outcome outcome(Headers headers, const TopicRules& by = rules()) {
  return Outcome{with_headers(std::move(headers)), by};
}

}  // namespace

TEST_CASE("the outbox row's UUID is the event's id") {
  const Outcome event = outcome({{"id", a_uuid}, {"eventType", "OrderPlaced"}});
  CHECK(event.id() == a_uuid);
  CHECK_FALSE(event.event().source_id);
  CHECK(event.event().event_type == "OrderPlaced");
  CHECK(event.event().subject == "k-1"sv);
  CHECK_FALSE(event.event().source);
  CHECK(event.event().occurred_at == 1'700'000'000'000'000);
}

TEST_CASE("a UUID in upper case is the same event and keeps its text") {
  const Outcome event = outcome({{"id", "550E8400-E29B-41D4-A716-446655440000"}});
  CHECK(event.id() == a_uuid);
  CHECK(event.event().source_id == "550E8400-E29B-41D4-A716-446655440000"sv);
}

TEST_CASE("the header id of a JSON converter is the same id") {
  for (const std::string_view id :
       {R"("550e8400-e29b-41d4-a716-446655440000")", R"("550e8400\u002de29b-41d4-a716-446655440000")",
        R"({"schema":{"type":"string","optional":false},"payload":"550e8400-e29b-41d4-a716-446655440000"})"}) {
    INFO(id);
    CHECK(outcome({{"id", id}}).id() == a_uuid);
    CHECK_FALSE(outcome({{"id", id}}).event().source_id);
  }
}

TEST_CASE("an id that only looks like JSON is taken unchanged") {
  for (const std::string_view id : {R"("abc)", R"({550e8400-e29b-41d4-a716-446655440000})", R"("a" or "b")", R"({})",
                                    R"("\x")", R"({"payload":"x"})", R"(")", R"({"schema":1,"payload":{}})"}) {
    INFO(id);
    CHECK(outcome({{"id", id}}).event().source_id == id);
  }
}

TEST_CASE("an id with a schema and the payload null is missing") {
  CHECK(outcome({{"id", R"({"schema":{"type":"string","optional":true},"payload":null})"}}).reason() == "no_id");
}

TEST_CASE("an id that is no UUID is unique within its topic and namespace") {
  const auto id = [](std::string_view topic, std::string name_space, std::string_view text) {
    event::Record record = with_headers({{"id", text}});
    record.topic = topic;
    TopicRules by = rules();
    by.name_space = std::move(name_space);
    return Outcome{record, by}.id();
  };
  CHECK(id("orders", "prod", "42") == "b152975e-882b-53d5-8ee1-052ef1f250db");
  CHECK(id("orders", "prod", "42") != id("payments", "prod", "42"));
  CHECK(id("orders", "prod", "42") != id("orders", "test", "42"));
  CHECK(id("orders", "prod", "42") != id("orders", "prod", "042"));
  CHECK(id("orders", "prod", std::string{a_uuid}) == id("payments", "test", std::string{a_uuid}));
  CHECK(outcome({{"id", "42"}}).event().source_id == "42"sv);
}

TEST_CASE("the event type is in the header configured for the router, else it is the topic") {
  CHECK(outcome({{"id", a_uuid}, {"type", "A"}}).event().event_type == "A");
  CHECK(outcome({{"id", a_uuid}, {"type", "A"}, {"eventType", "B"}}).event().event_type == "B");
  CHECK(outcome({{"id", a_uuid}, {"type", "A"}, {"eventType", std::nullopt}}).event().event_type == "A");
  CHECK(outcome({{"id", a_uuid}, {"eventType", R"("B")"}}).event().event_type == "B");
  CHECK(outcome({{"id", a_uuid}}).event().event_type == "orders");
}

TEST_CASE("of repeated id headers the last wins") {
  CHECK(outcome({{"id", "1"}, {"id", a_uuid}}).id() == a_uuid);
  CHECK(outcome({{"id", a_uuid}, {"id", std::nullopt}}).rejection() == "no_id: the header id is null");
}

TEST_CASE("an empty id is bad, a null id is missing") {
  CHECK(outcome({{"id", ""}}).rejection() == "bad_id: the id is empty");
  CHECK(outcome({{"id", R"("")"}}).rejection() == "bad_id: the id is empty");
  CHECK(outcome({{"id", std::nullopt}}).reason() == "no_id");
}

TEST_CASE("the value is kept unchanged, JSON in a JSON string or with its schema") {
  for (const std::string_view payload :
       {R"("{\"orderId\": 1}")", R"({"schema":{"type":"struct"},"payload":{"orderId":1}})", ""}) {
    const Outcome event{with_headers({{"id", a_uuid}}, payload)};
    CHECK(event.event().payload == payload);
  }
}

TEST_CASE("the aggregate's id is the key, if that is text") {
  const auto subject = [](event::MaybeBytes key) {
    event::Record record = with_headers({{"id", a_uuid}});
    record.key = key;
    const Outcome outcome{record};
    CHECK(outcome.event().key == key);
    const auto text = outcome.event().subject;
    return text ? std::string{*text} : "(null)";
  };
  CHECK(subject("customer-7") == "customer-7");
  CHECK(subject(R"("customer-7")") == "customer-7");
  CHECK(subject(R"({"schema":{"type":"string"},"payload":"customer-7"})") == "customer-7");
  CHECK(subject(std::nullopt) == "(null)");
  CHECK(subject(""sv) == "");
  CHECK(subject("\0\0\0\0\7binary"sv) == "(null)");
  CHECK(subject("\xFF") == "(null)");
  CHECK(subject(std::string(2000, 'x')) == "(null)");
}

TEST_CASE("a topic that names the outbox router needs its header") {
  CHECK(outcome({{"ce_id", "1"}, {"ce_source", "/a"}}, rules(EnvelopeKind::outbox_router)).rejection() ==
        "no_id: there is no header id");
  CHECK(outcome({{"id", a_uuid}, {"ce_id", "1"}, {"ce_source", "/a"}}, rules(EnvelopeKind::outbox_router)).id() ==
        a_uuid);
}

TEST_CASE("a record with an explicit CloudEvents mark does not match the outbox router") {
  const Outcome event = outcome({{"id", a_uuid}, {"ce_id", "1"}, {"ce_source", "/a"}});
  CHECK(event.id() != a_uuid);
  CHECK(event.event().source == "/a"sv);
}
