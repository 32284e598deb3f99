#include "records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::EnvelopeKind;
using config::OnMissingId;

namespace {

/// The steps as lines: `+ rule: why` if it matched, `- rule: why` if not.
std::string explained(const event::Record& record, const TopicRules& by = rules()) {
  std::string out;
  for (const Step& step : explain(record, by)) {
    out.append(step.matched ? "+ " : "- ").append(step.rule).append(": ").append(step.why).append("\n");
  }
  return out;
}

}  // namespace

TEST_CASE("explain lists the rules in the order tried, with the match and the reason") {
  CHECK(explained(with_headers({{"id", a_uuid}, {"content-type", "application/json"}})) ==
        "- cloudevents structured: header content-type is \"application/json\"\n"
        "- cloudevents binary: there is no header ce_id or ce_specversion\n"
        "- cap: there is no header cap-msg-id\n"
        "- axon: there is no header axon-message-id\n"
        "- nservicebus: there is no header NServiceBus.MessageId\n"
        "- masstransit: there are no headers MessageId and Content-Type\n"
        "- wolverine: there are no headers id and message-type\n"
        "- dapr: the value has no \"pubsubname\"\n"
        "- cloudevents in the value: the value has no \"specversion\"\n"
        "- eventuate: the value has no \"ID\"\n"
        "- debezium: the value has no \"ts_ms\"\n"
        "+ outbox router: there is a header id\n"
        "+ identity: event_id 550e8400-e29b-41d4-a716-446655440000: the id, a UUID\n");
  CHECK(explained(with_headers({{"ce_id", "A234-1234-1234"}, {"ce_source", "/mycontext"}})) ==
        "- cloudevents structured: there is no header content-type\n"
        "+ cloudevents binary: there is a header ce_id\n"
        "+ identity: event_id a1e87598-535c-5cf9-9f2f-e03f686a5f7a: UUIDv5 of source and id; the id is "
        "\"A234-1234-1234\"\n");
}

TEST_CASE("explain names the topic's policy and the reason for quarantine") {
  CHECK(explained(record(), rules(EnvelopeKind::outbox_router)) ==
        "- outbox router: there is no header id\n"
        "+ quarantine: no_id: there is no header id\n");
  CHECK(explained(record(), rules(EnvelopeKind::outbox_router, OnMissingId::position)) ==
        "- outbox router: there is no header id\n"
        "+ on_missing_id: position: there is no header id\n"
        "+ identity: event_id e7bf7d14-7066-503e-a526-3d72aa945404: UUIDv5 of namespace, topic, incarnation, partition "
        "and offset\n");
  TopicRules by = rules();
  by.topic.payload_limit = 3;
  by.topic.tombstones = config::Tombstones::skip;
  CHECK(explained(record("four"), by).starts_with("+ quarantine: too_large: the payload has 4 bytes"));
  CHECK(explained(record(std::nullopt), by) == "+ tombstones: skip: the value is null: skipped\n");
}

TEST_CASE("explain escapes and shortens untrusted text") {
  const std::string out =
      explained(with_headers({{"content-type", "a\nb\x1b[31m" + std::string(1000, 'x')}, {"id", "1"}}));
  CHECK(out.starts_with("- cloudevents structured: header content-type is \"a\\nb\\x1b[31mxxx"));
  CHECK(out.size() < 1200);
}

TEST_CASE("explain agrees with decode") {
  for (const event::Record& one :
       {record(), with_headers({{"id", a_uuid}}), with_headers({{"id", "a\0b"sv}}), record(std::nullopt),
        with_headers({{"content-type", "application/cloudevents+json"}}, "{")}) {
    const auto steps = explain(one, rules());
    REQUIRE_FALSE(steps.empty());
    CHECK(steps.back().matched);
    CHECK((steps.back().rule == "identity") == Outcome{one}.is_event());
  }
}
