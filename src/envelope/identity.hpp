#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.hpp"
#include "envelope/rule.hpp"

namespace inboxd::envelope {

/// Which event a record is. Stored for as long as `retention.ledger` says, and by other systems for ever: what goes
/// into a name below never changes.
///
/// Where an id is no UUID, or is unique only with its source, event_id is UUIDv5 in a name space of inboxd's own, of a
/// name made of length-prefixed parts ("6:source,4:/a/b,1:7,"; a null part is "-,"), so that no two lists of parts
/// share a name:
///   source, SOURCE, ID                                   CloudEvents; custom rules that found a source
///   topic, NAMESPACE, TOPIC, ID                          outbox router and custom rules: an id that is no UUID may
///                                                        be a row's number, unique in its topic only
///   position, NAMESPACE, TOPIC, INCARNATION, PARTITION, OFFSET
///   digest, NAMESPACE, TOPIC, KEY, PAYLOAD
struct Identity {
  base::Uuid event_id;
  event::MaybeBytes source_id;                 ///< the producer's text; null where it is event_id's canonical text
  std::string_view made_from;                  ///< for `explain`
};

/// What keeps the text from being an id: it must be 1 to 256 bytes of UTF-8 without control characters.
std::optional<std::string> problem_with_id(std::string_view id);

/// Of a reading that was checked and has no problem.
Identity identity_of(const Reading& reading, const Input& in);

Identity identity_by_position(const Input& in);
Identity identity_by_digest(const Input& in);

/// 64 bits over key and payload and nothing else; null and empty, and where the one ends and the other begins, make a
/// difference. The same on every machine and in every version.
std::int64_t digest_of(event::MaybeBytes key, event::MaybeBytes payload);

}  // namespace inboxd::envelope
