#pragma once
#include <cstddef>
#include <string_view>

namespace inboxd::event {

/// Why bytes are not JSON.
enum class JsonProblem {
  none,
  empty,
  schema_id,  ///< they begin like a schema registry serializer's bytes, and no JSON follows
  not_utf8,
  grammar,
};

/// A sentence without subject: "it is not UTF-8 text".
std::string_view sentence_of(JsonProblem problem);

struct JsonText {
  std::string_view text;  ///< without the five bytes of a schema registry's serializer and without a byte order mark
  JsonProblem problem = JsonProblem::none;
  bool is_json() const { return problem == JsonProblem::none; }
};

/// Decides what JSON is, for ids, `body` and every handler: a single value by the grammar of RFC 8259, in UTF-8, with
/// blanks around it. Numbers of any size, repeated keys, lone surrogates in escapes and any depth are JSON. SQL's
/// `inbox.body_of` skips the same bytes. Allocates nothing up to 4,096 levels.
JsonText json_in(std::string_view payload);

/// The bytes of `JsonText::text`, unchecked.
std::string_view without_prefix(std::string_view payload);

/// The end of the JSON number at the beginning of the text; 0: there is none.
std::size_t end_of_number(std::string_view text);

}  // namespace inboxd::event
