#include "envelope/order_key.hpp"

#include <array>
#include <string_view>

#include "envelope/identity.hpp"
#include "envelope/json.hpp"
#include "envelope/place.hpp"
#include "event/headers.hpp"

namespace inboxd::envelope {
namespace {

event::MaybeBytes find_in_header(const event::Event& event, std::string_view name) {
  if (!event.headers) return std::nullopt;
  const auto header = event::find_packed(*event.headers, name);
  return header ? header->value : std::nullopt;
}

/// A text or a number. Other values, and payloads that are not JSON, are no key.
event::MaybeBytes find_in_payload(const event::Event& event, std::string_view pointer, base::Arena& arena,
                                  config::Unwrap unwrap) {
  if (!event.json()) return std::nullopt;
  const std::array pointers{pointer};
  std::array<JsonValue, 1> found;
  find_in_json(*event.json(), pointers, found, arena, unwrap);
  const bool is_key = found[0].kind == JsonValue::Kind::string || found[0].kind == JsonValue::Kind::number;
  return is_key ? event::MaybeBytes{found[0].text} : std::nullopt;
}

}  // namespace

event::MaybeBytes OrderKeyRule::find(const event::Event& event, base::Arena& arena, config::Unwrap unwrap) const {
  const std::string_view place = place_;
  if (place == "key") return event.key;
  if (place == "subject") return event.subject;
  if (place.starts_with(header_prefix)) return find_in_header(event, place.substr(header_prefix.size()));
  return find_in_payload(event, place.substr(json_prefix.size()), arena, unwrap);
}

KeyHash OrderKeyRule::hash(const event::Event& event, base::Arena& arena, config::Unwrap unwrap) const {
  const auto key = find(event, arena, unwrap);
  if (!key && missing_key_ == config::MissingKey::unordered) return no_order_key;
  KeyHash hash = digest_of(key, std::nullopt);
  if (!key && missing_key_ == config::MissingKey::partition) {
    hash = digest_of(std::nullopt, std::to_string(event.shard_id));  // no key has that digest
  }
  return hash == no_order_key ? 1 : hash;
}

}  // namespace inboxd::envelope
