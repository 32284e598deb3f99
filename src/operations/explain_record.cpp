#include "operations/explain_record.hpp"

#include <string>

#include "envelope/body.hpp"
#include "formats/topic_decoder.hpp"
#include "inbox/handler_routing.hpp"
#include "operations/documents.hpp"

namespace inboxd::operations {
namespace {

std::optional<std::string> owned(event::MaybeBytes bytes) {
  return bytes ? std::optional{std::string{*bytes}} : std::nullopt;
}

void put_place(Document& into, const event::Record& record) {
  const bool is_in_kafka = record.offset >= 0;
  into["topic"] = record.topic;
  into["partition"] = is_in_kafka ? Document(record.partition) : Document();
  into["offset"] = is_in_kafka ? Document(record.offset) : Document();
  into["kafka_timestamp"] = time_of(record.timestamp);
  into["key"] = bytes_of(owned(record.key));
}

void put_steps(Document& into, const std::vector<envelope::Step>& steps) {
  into["steps"] = Document::array();
  for (const auto& step : steps) {
    into["steps"].push_back({{"rule", step.rule}, {"matched", step.matched}, {"why", step.why}});
  }
}

void put_event(Document& into, const event::Event& event, const std::vector<config::Handler>& handlers) {
  into["event"] = {{"event_id", event.event_id.text()},
                   {"source_id", text_of(owned(event.source_id))},
                   {"event_type", event.event_type},
                   {"source", text_of(owned(event.source))},
                   {"subject", text_of(owned(event.subject))},
                   {"occurred_at", time_of(event.occurred_at)}};
  into["handlers"] = Document::array();
  for (const auto& handler : handlers) {
    const bool is_subscribed = inbox::matches(into.at("topic").get<std::string>(), handler.topics) &&
                               inbox::matches(event.event_type, handler.types);
    if (is_subscribed) into["handlers"].push_back(handler.name);
  }
}

void put_body(Document& into, event::MaybeBytes payload, config::Unwrap unwrap) {
  into["body"] = nullptr;
  if (!payload) return;
  std::string storage;
  const auto body = envelope::body_in(*payload, unwrap, storage);
  if (body.is_json()) into["body"] = std::string{body.text};
  else into["body_problem"] = "not JSON: " + std::string{event::sentence_of(body.problem)};
}

}  // namespace

Document explain_record(const event::Record& record, const envelope::TopicRules& rules,
                        const std::vector<config::Handler>& handlers, bool with_body) {
  base::Arena arena;
  std::vector<envelope::Step> steps;
  const auto decoded = envelope::explain(record, rules, arena, steps);
  Document out;
  put_place(out, record);
  out["result"] = envelope::result_name(envelope::result_of(decoded));
  if (const auto* const rejected = std::get_if<envelope::Rejected>(&decoded)) out["detail"] = rejected->detail;
  if (const auto* const waiting = std::get_if<envelope::Waiting>(&decoded)) {
    out["result"] = "waiting";
    out["detail"] = waiting->detail;
  }
  put_steps(out, steps);
  if (const auto* const event = std::get_if<event::Event>(&decoded)) put_event(out, *event, handlers);
  if (with_body) {
    const auto json = rules.decoder ? rules.decoder->decode(record, arena) : formats::DecodedRecord{};
    put_body(out, json.value ? json.value : record.payload, rules.topic.unwrap);
  }
  return out;
}

}  // namespace inboxd::operations
