// Eventuate Tram: its CDC service writes {"payload": "…", "headers": {"ID": "…", …}} as the value. The names of headers
// were read in eventuate-tram-core (Message, EventMessageHeaders, CommandMessageHeaders, ReplyMessageHeaders).
#include <array>

#include "envelope/rule.hpp"
#include "envelope/time.hpp"

namespace inboxd::envelope {
namespace {

struct Member {
  enum Index : std::size_t { payload, id, event_type, command_type, reply_type, aggregate_id, date, count };
};

}  // namespace

bool read_eventuate(const Input& in, Reading& out, std::string* why) {
  const bool may_match = in.value() && mentions_key(*in.value(), "ID", 'I');
  if (!may_match) return no_match(why, "the value has no \"ID\"");
  constexpr std::array<std::string_view, Member::count> pointers{
      "/payload", "/headers/ID", "/headers/event-type", "/headers/command_type", "/headers/reply_type",
      "/headers/event-aggregate-id", "/headers/DATE"};
  std::array<JsonValue, Member::count> found;
  const std::string_view problem = find_in_json(*in.value(), pointers, found, in.arena, in.rules.topic.unwrap);
  if (!problem.empty()) return no_match(why, "the value is not JSON: ", problem);
  if (!found[Member::payload].is_text() || !found[Member::id].is_text()) {
    return no_match(why, "the value is JSON, but lacks the texts payload and headers.ID");
  }
  say(why, "the value is JSON with payload and headers.ID");
  take_id(out, found[Member::id], Numbers::refused);
  for (const auto type : {Member::event_type, Member::command_type, Member::reply_type}) {
    if (!out.type) take_attribute(out, out.type, "type", found[type], Numbers::refused);
  }
  take_attribute(out, out.subject, "event-aggregate-id", found[Member::aggregate_id], Numbers::taken);
  require(in, out, out.type && !out.type->empty(), "a message of Eventuate without event-type");
  if (found[Member::date].is_text()) out.occurred_at = parse_http_date(found[Member::date].text);
  return true;
}

}  // namespace inboxd::envelope
