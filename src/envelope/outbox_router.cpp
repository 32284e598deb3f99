// Debezium's outbox event router: the outbox row's id is the header `id`, and the Kafka key is the aggregate's id. The
// value is kept unchanged, whichever converter wrote it.
#include "envelope/rule.hpp"
#include "envelope/time.hpp"

namespace inboxd::envelope {
namespace {

/// The event type, if the router's configuration puts it into a header.
event::MaybeBytes event_type(const Input& in) {
  using namespace std::string_view_literals;
  for (const std::string_view name : {"eventType"sv, "type"sv}) {
    const event::Header* const header = event::find_header(in.record.headers, name);
    if (header == nullptr) continue;
    if (const auto text = producer_text(header->value, in.arena); text && !text->empty()) return text;
  }
  return std::nullopt;
}

}  // namespace

bool read_outbox_router(const Input& in, Reading& out, std::string* why) {
  const event::Header* const header = event::find_header(in.record.headers, "id");
  if (header == nullptr) return no_match(why, "there is no header id");
  say(why, "there is a header id");
  out.id = producer_text(header->value, in.arena);
  if (!out.id) out.complain(Rejection::no_id, "the header id is null");
  out.type = event_type(in);
  out.subject = key_as_subject(in);
  out.occurred_at = record_time(in.record);
  return true;
}

}  // namespace inboxd::envelope
