#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "event/event.hpp"
#include "inbox/array_parameter.hpp"

namespace inboxd::inbox {

/// The columns of events as parameters, in the order in which statements take them. For inbox, transaction, operations.
struct EventColumns {
  using Type = ArrayParameter::Type;

  ArrayParameter offset, id, source_id, type, source, subject, key, payload, decoded, headers, occurred;

  /// The expected numbers of events, key bytes and payload bytes, to allocate once.
  explicit EventColumns(std::size_t events = 0, std::size_t key_bytes = 0, std::size_t payload_bytes = 0)
      : offset{Type::int8, events * 12},
        id{Type::uuid, events * 20},
        source_id{Type::text, events * 4},
        type{Type::text, events * 20},
        source{Type::text, events * 4},
        subject{Type::text, events * 4},
        key{Type::bytea, key_bytes},
        payload{Type::bytea, payload_bytes},
        decoded{Type::bytea},
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
    decoded.add(event.decoded);
    headers.add(event.headers);
    occurred.add_time(event.occurred_at);
  }

  std::array<ArrayParameter*, 11> in_order() {
    return {&offset, &id,      &source_id, &type,    &source,  &subject,
            &key,    &payload, &decoded,   &headers, &occurred};
  }
};

/// The columns of the ledger. Sorted by id, so that two transactions that insert the same ids cannot deadlock.
struct LedgerColumns {
  using Type = ArrayParameter::Type;

  ArrayParameter id, shard, offset, digest;
  bool repeats = false;  ///< an id occurs twice

  explicit LedgerColumns(const std::vector<event::Event>& events)
      : id{Type::uuid, events.size() * 20},
        shard{Type::int4, events.size() * 8},
        offset{Type::int8, events.size() * 12},
        digest{Type::int8, events.size() * 12} {
    std::vector<const event::Event*> sorted;
    sorted.reserve(events.size());
    for (const event::Event& event : events) sorted.push_back(&event);
    std::sort(sorted.begin(), sorted.end(), [](const event::Event* a, const event::Event* b) {
      const int order = std::memcmp(a->event_id.bytes.data(), b->event_id.bytes.data(), 16);
      return order != 0 ? order < 0 : a->offset < b->offset;
    });
    repeats = std::adjacent_find(sorted.begin(), sorted.end(), [](const event::Event* a, const event::Event* b) {
                return a->event_id == b->event_id;
              }) != sorted.end();
    for (const event::Event* event : sorted) {
      id.add(event->event_id);
      shard.add(event->shard_id);
      offset.add(event->offset);
      digest.add(event->digest);
    }
  }

  std::array<ArrayParameter*, 4> in_order() { return {&id, &shard, &offset, &digest}; }
};

}  // namespace inboxd::inbox
