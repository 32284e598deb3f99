#include "cli/record_survey.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "envelope/rule.hpp"
#include "event/json_text.hpp"
#include "event/top_members.hpp"
#include "formats/schema_id.hpp"

namespace inboxd::cli {
namespace {

/// Names under which producers commonly write an event's id. The `id` of a JSON object is often that of a row, which
/// many events share, so it is no candidate.
constexpr std::array<std::string_view, 8> id_headers{"message-id", "event-id", "messageId", "eventId",
                                                     "message_id", "event_id", "uuid",      "MessageId"};
constexpr std::array<std::string_view, 6> id_members{"eventId",   "event_id",   "eventID",
                                                     "messageId", "message_id", "uuid"};

/// The word of `topics[].envelope`; empty: no rule matched.
std::string envelope_word(std::size_t rule) {
  using Kind = config::EnvelopeKind;
  using Pair = std::pair<Kind, const char*>;
  static constexpr std::array<Pair, 10> words{{{Kind::cloudevents, "cloudevents"},
                                               {Kind::dapr, "dapr"},
                                               {Kind::cap, "cap"},
                                               {Kind::axon, "axon"},
                                               {Kind::nservicebus, "nservicebus"},
                                               {Kind::masstransit, "masstransit"},
                                               {Kind::wolverine, "wolverine"},
                                               {Kind::eventuate, "eventuate"},
                                               {Kind::debezium, "debezium"},
                                               {Kind::outbox_router, "outbox-router"}}};
  if (rule >= envelope::all_rules().size()) return "";
  const auto found = std::find_if(words.begin(), words.end(), [&](const Pair& one) {
    return one.first == envelope::all_rules()[rule].kind;
  });
  return found == words.end() ? "" : found->second;
}

/// `12 of 100 records …`
std::string share(std::int64_t count, std::int64_t of, const std::string& rest) {
  return std::to_string(count) + " of " + std::to_string(of) + (of == 1 ? " record " : " records ") + rest;
}

}  // namespace

void RecordSurvey::add(const event::Record& record, const std::string& log) {
  ++records_;
  if (!record.key) ++without_key_;
  else if (!base::is_utf8(*record.key)) ++binary_keys_;
  note_value(record);
  if (!record.payload) return;  // a tombstone has no envelope
  config::Topic topic;
  topic.name = topic_;
  base::Arena arena;
  std::size_t rule = envelope::max_rules;
  const auto decoded = envelope::decode(record, {topic, "", log}, arena, &rule);
  ++envelopes_[envelope_word(rule)];
  if (const auto* const rejected = std::get_if<envelope::Rejected>(&decoded)) {
    ++(rejected->reason == envelope::Rejection::no_id ? lacks_ids_ : refused_);
  }
  note_ids(record);
}

void RecordSurvey::note_value(const event::Record& record) {
  if (!record.payload) {
    ++tombstones_;
    return;
  }
  const std::string_view value = *record.payload;
  const auto json = event::json_in(value);
  const bool has_schema_id = value.starts_with('\0') && value.size() > 5;
  if (json.is_json() && has_schema_id) ++json_with_schema_id_;
  if (json.is_json()) {
    const auto begin = json.text.find_first_not_of(" \t\r\n");
    ++(begin != std::string_view::npos && json.text[begin] == '{' ? objects_ : other_json_);
  } else if (formats::find_schema_header(record.headers, formats::value_headers) != nullptr) {
    ++in_header_;
  } else if (has_schema_id) {
    ++registry_;
    // Confluent's id has four bytes. Apicurio's has eight by default, of which the first four are zero.
    if (value.size() > 9 && value.substr(1, 4) == std::string_view{"\0\0\0\0", 4}) ++apicurio_;
  } else {
    ++not_json_;
  }
}

void RecordSurvey::note_ids(const event::Record& record) {
  for (const auto name : id_headers) {
    const auto* const header = event::find_header(record.headers, name);
    if (header != nullptr && header->value) note_id("header:" + std::string{name}, *header->value);
  }
  const auto json = event::json_in(*record.payload);
  if (!json.is_json()) return;
  for (event::TopMembers members{json.text}; members.next();) {
    if (std::find(id_members.begin(), id_members.end(), members.name) == id_members.end()) continue;
    if (members.text) note_id("json:/" + std::string{members.name}, *members.text);
  }
}

void RecordSurvey::note_id(const std::string& place, std::string_view value) {
  IdPlace& id = ids_[place];
  ++id.records;
  id.digests.insert(base::sha256_hex(value));
}

std::vector<std::string> RecordSurvey::id_places() const {
  std::vector<std::string> out;
  const std::int64_t with_value = records_ - tombstones_;
  for (const auto& [place, id] : ids_) {
    const auto values = static_cast<std::int64_t>(id.digests.size());
    if (id.records == with_value && values == with_value) out.push_back(place);
  }
  return out;
}

std::string RecordSurvey::envelope() const {
  if (envelopes_.size() != 1 || envelopes_.begin()->first.empty()) return "auto";
  return envelopes_.begin()->first;
}

std::vector<std::string> RecordSurvey::sentences() const {
  std::vector<std::string> out;
  const auto say = [&](std::int64_t count, const std::string& rest) {
    if (count > 0) out.push_back(share(count, records_, rest));
  };
  for (const auto& [word, count] : envelopes_) {
    say(count, word.empty() ? "without a known envelope" : "in envelope " + word);
  }
  say(objects_, "with a JSON object as value");
  say(other_json_, "with other JSON as value");
  const std::string encoded =
      " magic byte and the id of a schema before bytes that are not JSON (Avro or Protobuf with a schema registry)";
  say(json_with_schema_id_, "with the id of a registry's schema before their JSON, which is skipped");
  say(registry_ - apicurio_, "with Confluent's" + encoded);
  say(apicurio_, "with Apicurio's" + encoded);
  say(in_header_,
      "with a schema's id in a header and bytes that are not JSON (Avro or Protobuf with a schema registry)");
  say(not_json_, "with a value that is not JSON");
  say(tombstones_, "without a value (tombstones)");
  say(lacks_ids_, "without an event id");
  say(refused_, "that would go to quarantine; see `inboxd explain`");
  say(without_key_, "without a key");
  say(binary_keys_, "with a key that is not text");
  for (const auto& place : id_places()) out.push_back("each record has another value at " + place);
  return out;
}

}  // namespace inboxd::cli
