// Messaging frameworks that write a message's id and attributes into headers with names of their own. The names are
// those of the frameworks' sources: DotNetCore CAP (Messages/Headers), Axon's extension for Kafka (HeaderUtils),
// NServiceBus (Headers), MassTransit's rider (DictionaryHeadersSerialize) and Wolverine (EnvelopeConstants).
#include "envelope/rule.hpp"
#include "envelope/time.hpp"

namespace inboxd::envelope {
namespace {

event::MaybeBytes text_at(const Input& in, std::string_view name) {
  const event::Header* const header = event::find_header(in.record.headers, name);
  return header != nullptr ? producer_text(header->value, in.arena) : std::nullopt;
}

/// Takes the id out of its header, which is the mark of the envelope; false: there is no such header.
bool take_id_header(const Input& in, Reading& out, std::string_view name, std::string* why) {
  const event::Header* const header = event::find_header(in.record.headers, name);
  if (header == nullptr) return no_match(why, "there is no header ", name);
  say(why, "there is a header ", name);
  out.id = producer_text(header->value, in.arena);
  if (!out.id) out.complain(Rejection::no_id, "the header ", name, " is null");
  return true;
}

void require_type(const Input& in, Reading& out, std::string_view problem) {
  require(in, out, out.type && !out.type->empty(), problem);
}

/// Axon writes a long as 8 bytes in network order: milliseconds since 1970.
std::optional<event::Microseconds> binary_time(const event::Header* header) {
  if (header == nullptr || !header->value || header->value->size() != sizeof(std::int64_t)) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : *header->value) number = number << 8 | static_cast<unsigned char>(c);
  event::Microseconds out = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(number), 1'000, &out)) return std::nullopt;
  return out;
}

}  // namespace

bool read_cap(const Input& in, Reading& out, std::string* why) {
  if (!take_id_header(in, out, "cap-msg-id", why)) return false;
  out.type = text_at(in, "cap-msg-name");
  out.subject = text_at(in, "cap-corr-id");
  require_type(in, out, "a message of CAP without cap-msg-name");
  if (const auto sent = text_at(in, "cap-senttime")) out.occurred_at = parse_rfc3339(*sent);
  // By default CAP writes it in the format of the process's culture, which does not tell day from month.
  if (!out.occurred_at) out.occurred_at = record_time(in.record);
  return true;
}

bool read_axon(const Input& in, Reading& out, std::string* why) {
  if (!take_id_header(in, out, "axon-message-id", why)) return false;
  out.type = text_at(in, "axon-message-type");
  out.subject = text_at(in, "axon-message-aggregate-id");
  require_type(in, out, "a message of Axon without axon-message-type");
  out.occurred_at = binary_time(event::find_header(in.record.headers, "axon-message-timestamp"));
  return true;
}

bool read_nservicebus(const Input& in, Reading& out, std::string* why) {
  if (!take_id_header(in, out, "NServiceBus.MessageId", why)) return false;
  // Types with their assemblies, the message's own first: "Shop.OrderPlaced, Shop, Version=…; Shop.IEvent, Shop, …"
  out.type = text_at(in, "NServiceBus.EnclosedMessageTypes");
  if (out.type) out.type = out.type->substr(0, out.type->find_first_of(",;"));
  out.source = text_at(in, "NServiceBus.OriginatingEndpoint");
  if (out.source && out.source->empty()) out.source.reset();
  require_type(in, out, "a message of NServiceBus without NServiceBus.EnclosedMessageTypes");
  if (const auto sent = text_at(in, "NServiceBus.TimeSent")) out.occurred_at = parse_nservicebus_time(*sent);
  return true;
}

bool read_masstransit(const Input& in, Reading& out, std::string* why) {
  const bool has_content_type = event::find_header(in.record.headers, "Content-Type") != nullptr;
  // Other producers have a header MessageId, too.
  if (!has_content_type && in.rules.topic.envelope == config::EnvelopeKind::automatic) {
    return no_match(why, "there are no headers MessageId and Content-Type");
  }
  if (!take_id_header(in, out, "MessageId", why)) return false;
  out.source = text_at(in, "SourceAddress");
  if (out.source && out.source->empty()) out.source.reset();
  require(in, out, has_content_type, "a message of MassTransit without Content-Type");
  out.occurred_at = record_time(in.record);
  return true;
}

bool read_wolverine(const Input& in, Reading& out, std::string* why) {
  // A header id alone is the outbox router's.
  if (event::find_header(in.record.headers, "message-type") == nullptr &&
      in.rules.topic.envelope == config::EnvelopeKind::automatic) {
    return no_match(why, "there are no headers id and message-type");
  }
  if (!take_id_header(in, out, "id", why)) return false;
  out.type = text_at(in, "message-type");
  out.source = text_at(in, "source");
  if (out.source && out.source->empty()) out.source.reset();
  require_type(in, out, "a message of Wolverine without message-type");
  if (const auto sent = text_at(in, "sent-at")) out.occurred_at = parse_nservicebus_time(*sent);
  return true;
}

}  // namespace inboxd::envelope
