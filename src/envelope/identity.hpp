#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.hpp"
#include "envelope/rule.hpp"

namespace inboxd::envelope {

/// The identity of a record's event. The ledger keeps it for `retention.ledger`, other systems for ever, so the names
/// below never change.
///
/// If an id is no UUID, or is unique only together with its source, event_id is UUIDv5 in inboxd's own name space. The
/// name consists of length-prefixed parts ("6:source,4:/a/b,1:7,"; a null part is "-,"), so that no two lists of parts
/// share a name:
///   source, SOURCE, ID                                   CloudEvents; custom rules that found a source
///   topic, NAMESPACE, TOPIC, ID                          outbox router and custom rules: an id that is no UUID may
///                                                        be a row number, unique only in its topic
///   change, NAMESPACE, TOPIC, KEY, ID                    a change event: ID is the position in the database's log
///   position, NAMESPACE, TOPIC, INCARNATION, PARTITION, OFFSET
///   digest, NAMESPACE, TOPIC, KEY, PAYLOAD
struct Identity {
  base::Uuid event_id;
  event::MaybeBytes source_id;                 ///< the producer's text; null where it is event_id's canonical text
  std::string_view made_from;                  ///< for `explain`
};

/// Why the text is not a valid id: an id has 1 to 256 bytes of UTF-8 without control characters.
std::optional<std::string> problem_with_id(std::string_view id);

/// The event's own identity, if the record is a copy or a dead letter of an inbox, at any number of hops and whichever
/// rule matched. nullopt if the payload differs: an application has forwarded the headers of a copy.
std::optional<Identity> identity_of_copy(const Reading& reading, const Input& in);

/// For a reading that was checked and has no problem.
Identity identity_of(const Reading& reading, const Input& in);

Identity identity_by_position(const Input& in);
Identity identity_by_digest(const Input& in);

/// A 64-bit hash of key and payload alone. It tells null from empty and sees the border between the two. Equal on every
/// machine and in every version.
std::int64_t digest_of(event::MaybeBytes key, event::MaybeBytes payload);

/// Likewise, of another digest and a further part.
std::int64_t digest_of(std::int64_t before, event::MaybeBytes part);

}  // namespace inboxd::envelope
