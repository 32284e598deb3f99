#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "base/arena.hpp"
#include "event/record.hpp"

namespace inboxd::envelope {

/// A value that was looked for in JSON.
struct JsonValue {
  enum class Kind {
    none,                                      ///< not there
    null,
    string,                                    ///< `text` is the string itself, escapes resolved
    number,                                    ///< `text` is the number as it is written, of any size
    other,                                     ///< true, false, an object, an array
    broken,                                    ///< a string with an impossible escape, a token that is no JSON
  };
  Kind kind = Kind::none;
  std::string_view text;

  bool is_text() const { return kind == Kind::string; }
};

/// The most pointers that one look can have.
constexpr std::size_t max_json_pointers = 8;

/// Looks for the values at `pointers` (RFC 6901, not the empty one) in one pass, into `found`, which is as long. Of
/// repeated keys the last one counts, as in PostgreSQL's jsonb. What is not looked for is skipped, not checked beyond
/// its brackets and its UTF-8: depth, huge numbers and odd escapes there do no harm. The five bytes of Confluent's
/// schema id before the JSON and a byte order mark are skipped. Texts go into the arena.
/// Says what is wrong if the bytes are no JSON (then nothing is found); empty if they are.
std::string_view find_in_json(std::string_view json, std::span<const std::string_view> pointers,
                              std::span<JsonValue> found, base::Arena& arena);

/// What a producer put into a header or key as text. JSON converters and old Spring versions write it as a JSON string,
/// or with its schema as {"schema":…,"payload":"…"}: those are unwrapped, everything else is taken as it is.
event::MaybeBytes producer_text(event::MaybeBytes bytes, base::Arena& arena);

}  // namespace inboxd::envelope
