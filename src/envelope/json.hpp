#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/arena.hpp"
#include "config/settings.hpp"
#include "event/record.hpp"

namespace inboxd::envelope {

/// A value found in JSON.
struct JsonValue {
  enum class Kind {
    none,                                      ///< absent
    null,
    string,                                    ///< `text` is the string itself, escapes resolved
    number,                                    ///< `text` is the number as it is written, of any size
    other,                                     ///< true, false, an object, an array
    broken,                                    ///< a string with an invalid escape, or a token that is not JSON
  };
  Kind kind = Kind::none;
  std::string_view text;

  bool is_text() const { return kind == Kind::string; }
};

/// The most pointers of a search.
constexpr std::size_t max_json_pointers = 8;

/// Finds the values at `pointers` (RFC 6901, not the empty pointer) in a single pass, into `found`, which has the same
/// size. The last of repeated keys counts, as in PostgreSQL's jsonb. `body_in` decides what JSON is and takes off its
/// wrapping; depth, huge numbers and odd escapes elsewhere do no harm. Texts go into the arena. Returns the problem if
/// the bytes are no JSON object or array (then nothing is found), else an empty string.
std::string_view find_in_json(std::string_view json, std::span<const std::string_view> pointers,
                              std::span<JsonValue> found, base::Arena& arena,
                              config::Unwrap unwrap);

/// Splits a JSON array of objects into its elements, as views into the text.
enum class Split { done, no_objects, too_many };
Split split_objects(std::string_view json, std::size_t most, std::vector<std::string_view>& elements);

/// Whether the text has the key `key` at any depth, also inside of a JSON string, where its quotes are escaped. Saves
/// parsing nearly all values that lack it. `rarest`: a character of the key that is rare in JSON.
bool mentions_key(std::string_view json, std::string_view key, char rarest);

/// The text of a header or a key. JSON converters and old Spring versions write it as a JSON string, or with a schema
/// as {"schema":…,"payload":"…"}, Event Hubs in AMQP's encoding: these are unwrapped, all other bytes are returned
/// unchanged.
event::MaybeBytes producer_text(event::MaybeBytes bytes, base::Arena& arena);

}  // namespace inboxd::envelope
