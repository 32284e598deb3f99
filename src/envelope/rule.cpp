#include "envelope/rule.hpp"

#include <array>

namespace inboxd::envelope {
namespace {

using config::EnvelopeKind;

/// A new family adds a file with its functions, and its lines here. Order: rules with an explicit mark (a content type,
/// a header of the family's own) before rules that guess from the value, or from a header named `id`.
constexpr std::array rules{
    Rule{"cloudevents structured", EnvelopeKind::cloudevents, read_cloudevents_structured},
    Rule{"cloudevents binary", EnvelopeKind::cloudevents, read_cloudevents_binary},
    Rule{"cap", EnvelopeKind::cap, read_cap},
    Rule{"axon", EnvelopeKind::axon, read_axon},
    Rule{"nservicebus", EnvelopeKind::nservicebus, read_nservicebus},
    Rule{"masstransit", EnvelopeKind::masstransit, read_masstransit},
    Rule{"wolverine", EnvelopeKind::wolverine, read_wolverine},
    Rule{"dapr", EnvelopeKind::dapr, read_dapr},
    Rule{"cloudevents in the value", EnvelopeKind::cloudevents, read_cloudevents_in_value},
    Rule{"eventuate", EnvelopeKind::eventuate, read_eventuate},
    Rule{"debezium", EnvelopeKind::debezium, read_debezium},
    Rule{"outbox router", EnvelopeKind::outbox_router, read_outbox_router},
    Rule{"custom", EnvelopeKind::custom, read_custom},
};

static_assert(rules.size() <= max_rules, "raise max_rules in decode.hpp");

}  // namespace

std::span<const Rule> all_rules() { return rules; }

void take_id(Reading& out, const JsonValue& value, Numbers numbers) {
  switch (value.kind) {
    case JsonValue::Kind::none:
    case JsonValue::Kind::null: return;
    case JsonValue::Kind::string: out.id = value.text; return;
    case JsonValue::Kind::number:
      if (numbers == Numbers::taken) out.id = value.text;
      else out.complain(Rejection::bad_id, "the id is a number, not a string");
      return;
    case JsonValue::Kind::other: out.complain(Rejection::bad_id, "the id is not a string"); return;
    case JsonValue::Kind::broken: out.complain(Rejection::bad_id, "the id is not valid JSON"); return;
  }
}

void take_attribute(Reading& out, event::MaybeBytes& slot, std::string_view name, const JsonValue& value,
                    Numbers numbers) {
  using Kind = JsonValue::Kind;
  if (value.kind == Kind::none || value.kind == Kind::null) return;
  if (value.kind == Kind::string || (value.kind == Kind::number && numbers == Numbers::taken)) {
    slot = value.text;
  } else {
    const std::string_view what = value.kind == Kind::broken ? " is not valid JSON" : " is not a string";
    out.complain(Rejection::undecodable, name, what);
  }
}

event::MaybeBytes key_as_subject(const Input& in) {
  const auto text = producer_text(in.key(), in.arena);
  return text && text->size() <= max_attribute && base::is_database_text(*text) ? text : std::nullopt;
}

}  // namespace inboxd::envelope
