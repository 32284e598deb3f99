// Hostile records: decode neither crashes nor throws, and every decoded event can be stored.
#include <array>

#include "envelope/decode.hpp"
#include "fuzz/storable_event.hpp"
#include "fuzz/target.hpp"

using namespace inboxd;
using config::EnvelopeKind;
using config::OnMissingId;

namespace {

envelope::TopicRules rules_of(fuzz::Input& input) {
  static constexpr std::array envelopes{EnvelopeKind::automatic, EnvelopeKind::cloudevents, EnvelopeKind::outbox_router,
                                        EnvelopeKind::custom, EnvelopeKind::debezium, EnvelopeKind::dapr,
                                        EnvelopeKind::cap, EnvelopeKind::axon, EnvelopeKind::nservicebus,
                                        EnvelopeKind::masstransit, EnvelopeKind::wolverine, EnvelopeKind::eventuate};
  static constexpr std::array policies{OnMissingId::quarantine, OnMissingId::position, OnMissingId::digest};
  static constexpr std::array places{"", "key", "header:id", "header:ce_type", "json:/id", "json:/a/0/b"};
  envelope::TopicRules out;
  out.topic.envelope = envelopes[input.below(envelopes.size())];
  out.topic.on_missing_id = policies[input.below(policies.size())];
  if (input.below(8) == 0) out.topic.payload_limit = 40;
  if (input.below(8) == 0) out.topic.tombstones = config::Tombstones::skip;
  out.topic.strict = out.topic.tombstones == config::Tombstones::skip;
  auto& custom = out.topic.custom;
  for (std::string* place : {&custom.id, &custom.type, &custom.source, &custom.subject, &custom.time}) {
    *place = places[input.below(places.size())];
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  const auto rules = rules_of(input);
  const auto kinds = input.byte();  // which parts are null
  event::Record record;
  record.topic = "orders";
  record.timestamp = input.number();
  if ((kinds & 1) == 0) record.key = input.text();
  for (std::size_t count = input.below(5); count > 0; --count) {
    const auto name = input.text();
    record.headers.push_back({name, (kinds >> count & 1) == 0 ? event::MaybeBytes{input.text()} : std::nullopt});
  }
  if ((kinds & 128) == 0) record.payload = input.rest();
  base::Arena arena{256};
  const auto decoded = envelope::decode(record, rules, arena);
  if (const auto* event = std::get_if<event::Event>(&decoded)) {
    const auto problem = fuzz::problem_of(*event, record);
    fuzz::require(problem == nullptr, problem);
    const auto again = envelope::decode(record, rules, arena);
    fuzz::require(std::get<event::Event>(again).event_id == event->event_id, "a record has the same id again");
  } else if (const auto* rejected = std::get_if<envelope::Rejected>(&decoded)) {
    fuzz::require(!rejected->detail.empty() && base::is_database_text(rejected->detail), "a refusal can be stored");
  }
  const auto steps = envelope::explain(record, rules);
  fuzz::require((steps.back().rule == "identity") == std::holds_alternative<event::Event>(decoded),
                "the explanation agrees");
  return 0;
}
