#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/arena.hpp"
#include "base/uuid.hpp"
#include "event/record.hpp"

namespace inboxd::event {

/// An accepted message, immutable. A view: its bytes belong to the batch, or to the leased run, that it is part of.
struct Event {
  std::int32_t shard_id = 0;
  bool may_have_context = true;                ///< false: it has no trace context
  bool may_be_early = true;                    ///< false: the database found that `deliver_at` has come
  std::int64_t offset = 0;
  base::Uuid event_id;
  /// Of key and payload bytes only: tells a resend from a conflict. Set at ingest and kept in the ledger; a claim does
  /// not read it.
  std::int64_t digest = 0;
  /// Of the edit that replaced payload and headers for a handler; 0: none. Set by a claim.
  std::int64_t edit_id = 0;
  MaybeBytes source_id;                        ///< the producer's text; null where it is event_id's canonical text
  std::string_view event_type;
  MaybeBytes source;
  MaybeBytes subject;
  MaybeBytes key;
  MaybeBytes payload;
  /// The JSON that the payload was decoded to at ingest, if its topic has a format; nullopt for an edited event.
  MaybeBytes decoded;
  MaybeBytes headers;                          ///< packed (event/headers.hpp); null where there are none
  std::optional<Microseconds> occurred_at;
  std::optional<Microseconds> kafka_timestamp;
  Microseconds received_at = 0;                ///< the database's clock; 0 until it is stored
  std::optional<Microseconds> deliver_at;      ///< no handler gets it before; nullopt: at once

  /// Where to search for JSON.
  const MaybeBytes& json() const { return decoded ? decoded : payload; }
};

/// The bytes of an event that count against the limits.
inline std::size_t size_of(const Event& event) {
  const auto length = [](const MaybeBytes& bytes) { return bytes ? bytes->size() : 0; };
  return sizeof(Event) + event.event_type.size() + length(event.source_id) + length(event.source) +
         length(event.subject) + length(event.key) + length(event.payload) + length(event.decoded) +
         length(event.headers);
}

/// Whether the event may not be handed over yet. `now`: not ahead of the database's clock.
inline bool is_early(const Event& event, Microseconds now) {
  return event.deliver_at && event.may_be_early && *event.deliver_at > std::max(now, event.received_at);
}

/// The event with its bytes in the arena. A new field of bytes goes into `size_of` and here.
inline Event copy(const Event& event, base::Arena& arena) {
  Event out = event;
  out.event_type = arena.copy(event.event_type);
  for (MaybeBytes* bytes :
       {&out.source_id, &out.source, &out.subject, &out.key, &out.payload, &out.decoded, &out.headers}) {
    if (*bytes) *bytes = arena.copy(**bytes);
  }
  return out;
}

}  // namespace inboxd::event
