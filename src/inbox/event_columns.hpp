#pragma once
#include <array>

#include "event/event.hpp"
#include "inbox/arrays.hpp"

namespace inboxd::inbox {

/// What an event brings with it, a column each, in the order in which statements take them. Private to this room.
struct EventColumns {
  using Type = ArrayParameter::Type;

  ArrayParameter offset, id, source_id, type, source, subject, key, payload, headers, occurred;

  /// About how many events, and bytes of their keys and payloads, there will be: to allocate once.
  explicit EventColumns(std::size_t events = 0, std::size_t key_bytes = 0, std::size_t payload_bytes = 0)
      : offset{Type::int8, events * 12},
        id{Type::uuid, events * 20},
        source_id{Type::text, events * 4},
        type{Type::text, events * 20},
        source{Type::text, events * 4},
        subject{Type::text, events * 4},
        key{Type::bytea, key_bytes},
        payload{Type::bytea, payload_bytes},
        headers{Type::bytea, events * 4},
        occurred{Type::timestamptz, events * 12} {}

  void add(const event::Event& event) {
    offset.add(event.offset);
    id.add(event.event_id);
    source_id.add(event.source_id);
    type.add(event.event_type);
    source.add(event.source);
    subject.add(event.subject);
    key.add(event.key);
    payload.add(event.payload);
    headers.add(event.headers);
    occurred.add_time(event.occurred_at);
  }

  std::array<ArrayParameter*, 10> in_order() {
    return {&offset, &id, &source_id, &type, &source, &subject, &key, &payload, &headers, &occurred};
  }
};

}  // namespace inboxd::inbox
