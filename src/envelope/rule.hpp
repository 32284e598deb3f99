#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/arena.hpp"
#include "base/text.hpp"
#include "envelope/decode.hpp"
#include "envelope/json.hpp"

namespace inboxd::envelope {

/// The input of each rule.
struct Input {
  const event::Record& record;
  const TopicRules& rules;
  base::Arena& arena;                          ///< for text that differs from the record's bytes
  event::MaybeBytes decoded = std::nullopt, decoded_key = std::nullopt;  ///< JSON, if the topic has a format

  /// Where to search for JSON.
  const event::MaybeBytes& value() const { return decoded ? decoded : record.payload; }
  const event::MaybeBytes& key() const { return decoded_key ? decoded_key : record.key; }
};

/// What makes an envelope's id unique: it is so alone (a UUID; within its topic, if it is none), or only together with
/// its source, or, as a position in a database's log, together with its topic and key.
enum class Uniqueness { id_alone, source_and_id, topic_key_and_id };

/// The values that a rule found in a record it matched. Nothing is checked yet.
struct Reading {
  event::MaybeBytes id;                        ///< null: missing, so the topic's on_missing_id applies
  Uniqueness uniqueness = Uniqueness::id_alone;
  event::MaybeBytes type;
  event::MaybeBytes source;
  event::MaybeBytes subject;
  event::MaybeBytes key;                       ///< topic_key_and_id: the record's key, without a converter's wrapping
  std::optional<event::Microseconds> occurred_at;
  std::optional<std::int64_t> digest;          ///< if a resend may differ from the record in other bytes
  std::optional<event::Microseconds> deliver_at;
  std::optional<base::Uuid> uuid;              ///< set by the check: the id, if it is unique alone and a UUID
  std::optional<Rejection> problem;            ///< the gravest problem
  std::string detail;                          ///< a sentence about it

  /// Notes a problem, if it is graver than the noted problem. A bad id is gravest, a missing id least grave: the topic
  /// may have a remedy for it (`on_missing_id`), which must not hide the others.
  template <class... Parts>
  void complain(Rejection reason, const Parts&... parts) {
    const auto gravity = [](Rejection r) { return r == Rejection::bad_id ? 3 : r == Rejection::no_id ? 1 : 2; };
    if (problem && gravity(*problem) >= gravity(reason)) return;
    problem = reason;
    detail.clear();
    (detail.append(parts), ...);
  }
};

/// Whether the rule matches the record. If so, `out` gets the values; otherwise it stays unchanged. `why` gets a
/// sentence for `explain`; it is null on the hot path, so that no text is made there.
using ReadRule = bool (*)(const Input& in, Reading& out, std::string* why);

struct Rule {
  std::string_view name;
  config::EnvelopeKind kind = config::EnvelopeKind::automatic;
  ReadRule read = nullptr;
};

// A function for each rule; a file for each family of producers.
bool read_cloudevents_structured(const Input& in, Reading& out, std::string* why);
bool read_cloudevents_binary(const Input& in, Reading& out, std::string* why);
bool read_cap(const Input& in, Reading& out, std::string* why);
bool read_axon(const Input& in, Reading& out, std::string* why);
bool read_nservicebus(const Input& in, Reading& out, std::string* why);
bool read_masstransit(const Input& in, Reading& out, std::string* why);
bool read_wolverine(const Input& in, Reading& out, std::string* why);
bool read_dapr(const Input& in, Reading& out, std::string* why);
bool read_cloudevents_in_value(const Input& in, Reading& out, std::string* why);
bool read_eventuate(const Input& in, Reading& out, std::string* why);
bool read_debezium(const Input& in, Reading& out, std::string* why);
bool read_outbox_router(const Input& in, Reading& out, std::string* why);
bool read_custom(const Input& in, Reading& out, std::string* why);

/// Reads the time at `topics[].deliver_at`, for each rule.
void read_deliver_at(const Input& in, Reading& out);

/// All rules in the order in which they are tried.
std::span<const Rule> all_rules();

/// Whether a JSON number is accepted as text: yes if the operator named the place.
enum class Numbers { refused, taken };

/// Puts a value into the reading: as its id, or as the attribute `name`.
void take_id(Reading& out, const JsonValue& value, Numbers numbers);
void take_attribute(Reading& out, event::MaybeBytes& slot, std::string_view name, const JsonValue& value,
                    Numbers numbers);

/// Under `strict` a record whose envelope lacks a required attribute goes to quarantine, even if it has an id.
inline void require(const Input& in, Reading& out, bool is_there, std::string_view problem) {
  if (in.rules.topic.strict && !is_there) out.complain(Rejection::undecodable, problem, " (topics[].strict)");
}

/// The longest type, source or subject in bytes.
constexpr std::size_t max_attribute = 1024;

/// The record's key as a subject: the aggregate's id. If the key is not text (as with Avro), there is no subject. The
/// key itself is always kept.
event::MaybeBytes key_as_subject(const Input& in);

/// For a change event of Debezium: its id is unique together with its topic and its row's key, which becomes the
/// subject.
void identify_by_row(const Input& in, Reading& out);

/// Untrusted text in a sentence: shortened, escaped and quoted.
struct Quoted {
  std::string_view text;
};

inline void append_to(std::string& sentence, std::string_view part) { sentence.append(part); }
inline void append_to(std::string& sentence, Quoted part) {
  sentence.append("\"").append(base::escape_controls(base::shorten(part.text, 100))).append("\"");
}

/// Writes the sentence unless `why` is null.
template <class... Parts>
void say(std::string* why, const Parts&... parts) {
  if (why == nullptr) return;
  why->clear();
  (append_to(*why, parts), ...);
}

/// Writes why a rule does not match; returns false.
template <class... Parts>
bool no_match(std::string* why, const Parts&... parts) {
  say(why, parts...);
  return false;
}

}  // namespace inboxd::envelope
