#include "envelope/decode.hpp"

#include <algorithm>
#include <cstdio>

#include "envelope/identity.hpp"
#include "envelope/rule.hpp"
#include "envelope/time.hpp"
#include "event/headers.hpp"
#include "formats/topic_decoder.hpp"

namespace inboxd::envelope {
namespace {

using config::EnvelopeKind;
using config::OnMissingId;

/// The steps for `explain`; null on the hot path.
using Steps = std::vector<Step>*;

void note(Steps steps, std::string_view rule, bool matched, std::string_view why) {
  if (steps != nullptr) steps->push_back({std::string{rule}, matched, std::string{why}});
}

Rejected rejected(Steps steps, Rejection reason, std::string detail) {
  if (steps != nullptr) note(steps, "quarantine", true, std::string{name_of(reason)} + ": " + detail);
  return {reason, std::move(detail)};
}

bool applies(const Rule& rule, EnvelopeKind wanted) {
  return wanted == EnvelopeKind::automatic ? rule.kind != EnvelopeKind::custom : rule.kind == wanted;
}

std::string_view nothing_recognised(EnvelopeKind wanted, bool is_tombstone) {
  switch (wanted) {
    case EnvelopeKind::automatic:
      if (is_tombstone) return "a null value without an id in its headers; set topics[].tombstones: skip";
      return "no CloudEvent (in headers or value), no header id and no other known envelope; set topics[].envelope, or "
             "see `inboxd explain`";
    case EnvelopeKind::cloudevents: return "no CloudEvent in the headers or the value";
    case EnvelopeKind::dapr: return "the value is no CloudEvent of Dapr, with pubsubname";
    case EnvelopeKind::cap: return "there is no header cap-msg-id";
    case EnvelopeKind::axon: return "there is no header axon-message-id";
    case EnvelopeKind::nservicebus: return "there is no header NServiceBus.MessageId";
    case EnvelopeKind::masstransit: return "there is no header MessageId";
    case EnvelopeKind::wolverine:
    case EnvelopeKind::outbox_router: return "there is no header id";
    case EnvelopeKind::eventuate: return "the value is not JSON with payload and headers.ID";
    case EnvelopeKind::debezium: return "the value is not JSON with op, source and ts_ms";
    case EnvelopeKind::custom: break;  // always applies
  }
  return "no rule applies";
}

/// Spring for Apache Kafka writes the class of a value into a header; it writes no id.
void take_type_of_spring(const Input& in, Reading& out) {
  if (in.rules.topic.envelope == EnvelopeKind::custom || (out.type && !out.type->empty())) return;
  const event::Header* const header = event::find_header(in.record.headers, "__TypeId__");
  if (header != nullptr) out.type = producer_text(header->value, in.arena);
}

/// Reads the record by the first rule that matches it.
void read_by_rules(const Input& in, Reading& out, Steps steps, std::size_t* number) {
  std::string why;
  std::size_t at = 0;
  for (const Rule& rule : all_rules()) {
    const std::size_t this_one = at++;
    if (!applies(rule, in.rules.topic.envelope)) continue;
    const bool matched = rule.read(in, out, steps != nullptr ? &why : nullptr);
    note(steps, rule.name, matched, why);
    if (matched && number != nullptr) *number = this_one;
    if (matched) return;
  }
  out.occurred_at = record_time(in.record);
  out.complain(Rejection::no_id, nothing_recognised(in.rules.topic.envelope, !in.record.payload));
}

std::optional<std::string> problem_with_size(const Input& in) {
  const std::size_t limit = in.rules.topic.payload_limit;
  const auto size = [](const event::MaybeBytes& bytes) { return bytes ? bytes->size() : 0; };
  const std::size_t payload = size(in.record.payload);
  const std::size_t key = size(in.record.key);
  const std::size_t headers = event::packed_size(in.record.headers);
  if (payload <= limit && key <= limit && headers <= limit) return std::nullopt;
  const auto digest = static_cast<std::uint64_t>(digest_of(in.record.key, in.record.payload));
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(digest));
  const std::string what = payload > limit ? "the payload has " + std::to_string(payload)
                           : key > limit   ? "the key has " + std::to_string(key)
                                           : "the headers have " + std::to_string(headers);
  return what + " bytes, the topic's payload_limit is " + std::to_string(limit) + "; digest " + hex;
}

void check_attribute(Reading& reading, std::string_view name, const event::MaybeBytes& text) {
  if (!text) return;
  if (text->size() > max_attribute) {
    reading.complain(Rejection::undecodable, name, " has ", std::to_string(text->size()), " bytes; the limit is 1024");
  } else if (!base::is_database_text(*text)) {
    reading.complain(Rejection::undecodable, name, " is not UTF-8 or has a NUL");
  }
}

void check_id(Reading& reading) {
  if (!reading.id) return;
  if (reading.uniqueness == Uniqueness::id_alone) reading.uuid = base::parse_uuid(*reading.id);
  if (reading.uuid) return;
  if (const auto problem = problem_with_id(*reading.id)) reading.complain(Rejection::bad_id, "the id ", *problem);
}

void check(const Input& in, Reading& reading) {
  check_id(reading);
  check_attribute(reading, "type", reading.type);
  check_attribute(reading, "source", reading.source);
  check_attribute(reading, "subject", reading.subject);
  read_deliver_at(in, reading);
}

/// The producer's identity, or the identity by the topic's on_missing_id; nothing: quarantine.
std::optional<Identity> identify(const Reading& reading, const Input& in, Steps steps) {
  if (reading.problem && *reading.problem != Rejection::no_id) return std::nullopt;
  if (auto of_copy = identity_of_copy(reading, in)) return of_copy;
  if (!reading.problem) return identity_of(reading, in);
  switch (in.rules.topic.on_missing_id) {
    case OnMissingId::quarantine: return std::nullopt;
    case OnMissingId::position:
      note(steps, "on_missing_id: position", true, reading.detail);
      return identity_by_position(in);
    case OnMissingId::digest:
      note(steps, "on_missing_id: digest", true, reading.detail);
      return identity_by_digest(in);
  }
  return std::nullopt;
}

void fill(event::Event& out, const Reading& reading, const Identity& identity, const Input& in) {
  const event::Record& record = in.record;
  out.offset = record.offset;
  out.event_id = identity.event_id;
  out.digest = reading.digest ? *reading.digest : digest_of(record.key, record.payload);
  out.source_id = identity.source_id;
  out.event_type = reading.type && !reading.type->empty() ? *reading.type : record.topic;
  out.source = reading.source;
  out.subject = reading.subject;
  out.key = record.key;
  out.payload = record.payload;
  out.decoded = in.decoded;
  if (!record.headers.empty()) out.headers = event::pack_headers(record.headers, in.arena);
  out.occurred_at = database_time(reading.occurred_at);
  out.deliver_at = reading.deliver_at;
  out.kafka_timestamp = record_time(record);
}

void explain_identity(Steps steps, const Identity& identity) {
  if (steps == nullptr) return;
  std::string why;
  say(&why, "event_id ", identity.event_id.text(), ": ", identity.made_from);
  if (identity.source_id) append_to(why.append("; the id is "), Quoted{*identity.source_id});
  note(steps, "identity", true, why);
}

/// By the topic's formats. nullopt: the rules may search.
std::optional<Decoded> decode_formats(Input& in, Steps steps) {
  if (in.rules.decoder == nullptr) return std::nullopt;
  formats::DecodedRecord found = in.rules.decoder->decode(in.record, in.arena);
  if (!found.waits.empty()) {
    note(steps, "format", false, found.waits);
    return Waiting{std::move(found.waits)};
  }
  if (!found.misfit.empty()) return rejected(steps, Rejection::undecodable, std::move(found.misfit));
  in.decoded = found.value;
  in.decoded_key = found.key;
  if (found.value || found.key) {
    note(steps, "format", true, found.value && found.key ? "value and key were decoded to JSON"
                                : found.value            ? "the value was decoded to JSON"
                                                         : "the key was decoded to JSON");
  }
  return std::nullopt;
}

bool skips_tombstones(const config::Topic& topic) {
  if (topic.tombstones != config::Tombstones::automatic) return topic.tombstones == config::Tombstones::skip;
  return topic.envelope == EnvelopeKind::debezium;  // it writes one after each delete
}

Decoded read(Input in, Steps steps, std::size_t* rule) {
  if (!in.record.payload && skips_tombstones(in.rules.topic)) {
    const bool is_named = in.rules.topic.tombstones == config::Tombstones::skip;
    note(steps, is_named ? "tombstones: skip" : "tombstones: auto", true, "the value is null: skipped");
    return Skipped{};
  }
  if (auto problem = problem_with_size(in)) return rejected(steps, Rejection::too_large, std::move(*problem));
  if (auto end = decode_formats(in, steps)) return *std::move(end);
  Reading reading;
  read_by_rules(in, reading, steps, rule);
  take_type_of_spring(in, reading);
  check(in, reading);
  const auto identity = identify(reading, in, steps);
  if (!identity) return rejected(steps, *reading.problem, std::move(reading.detail));
  explain_identity(steps, *identity);
  Decoded out{std::in_place_type<event::Event>};  // in place: an event is large, and this is the hot path
  fill(std::get<event::Event>(out), reading, *identity, in);
  return out;
}

}  // namespace

std::string_view name_of(Rejection rejection) {
  switch (rejection) {
    case Rejection::no_id: return "no_id";
    case Rejection::bad_id: return "bad_id";
    case Rejection::too_large: return "too_large";
    case Rejection::undecodable: return "undecodable";
  }
  return "undecodable";
}

std::string rule_name(std::size_t rule) {
  if (rule == max_rules) return "none";
  if (rule >= all_rules().size()) return "";
  std::string out{all_rules()[rule].name};
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

std::string_view result_name(std::size_t result) {
  if (result == 0) return "event";
  return result == 1 ? "skipped" : name_of(static_cast<Rejection>(result - 2));
}

Decoded decode(const event::Record& record, const TopicRules& rules, base::Arena& arena, std::size_t* rule) {
  return read({record, rules, arena}, nullptr, rule);
}

std::vector<Step> explain(const event::Record& record, const TopicRules& rules) {
  base::Arena arena;
  std::vector<Step> steps;
  explain(record, rules, arena, steps);
  return steps;
}

Decoded explain(const event::Record& record, const TopicRules& rules, base::Arena& arena, std::vector<Step>& steps) {
  return read({record, rules, arena}, &steps, nullptr);
}

}  // namespace inboxd::envelope
