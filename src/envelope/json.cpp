#include "envelope/json.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "envelope/amqp.hpp"
#include "envelope/body.hpp"
#include "event/json_text.hpp"

namespace inboxd::envelope {
namespace {

namespace ondemand = simdjson::ondemand;
using Kind = JsonValue::Kind;

/// A parser with its padded copy of the text. Memory grows with the longest text and is kept up to `kept_bytes`.
class Reader final {
 public:
  simdjson::simdjson_result<ondemand::document> open(std::string_view json) {
    if (padded_ == nullptr || json.size() > capacity_) {
      const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(json.size(), 4096));
      padded_ = std::make_unique_for_overwrite<char[]>(capacity + simdjson::SIMDJSON_PADDING);
      capacity_ = capacity;
      if (const auto error = parser_.allocate(capacity); error != simdjson::SUCCESS) return error;
    }
    std::memcpy(padded_.get(), json.data(), json.size());
    std::memset(padded_.get() + json.size(), 0, simdjson::SIMDJSON_PADDING);
    return parser_.iterate(padded_.get(), json.size(), json.size() + simdjson::SIMDJSON_PADDING);
  }

  /// The copy of the text.
  const char* begin() const { return padded_.get(); }

  /// Frees the memory of an unusually long text.
  void tidy() {
    if (capacity_ > kept_bytes) *this = Reader{};
  }

 private:
  static constexpr std::size_t kept_bytes = 2 << 20;
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> padded_;
  ondemand::parser parser_;
};

/// A reader for each thread: allocating a parser costs more than reading a text, and `decode` has no state to keep it
/// in. Each `open` starts afresh, so no record sees the data of another record.
Reader& reader_of_this_thread() {
  thread_local Reader reader;
  return reader;
}

/// Whether a pointer's token is the key; `~1` is a slash and `~0` a tilde.
bool token_is(std::string_view token, std::string_view key) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < token.size(); ++i, ++at) {
    char c = token[i];
    if (c == '~' && i + 1 < token.size()) c = token[++i] == '1' ? '/' : '~';
    if (at == key.size() || key[at] != c) return false;
  }
  return at == key.size();
}

bool token_is(std::string_view token, std::size_t index) {
  if (token.empty() || (token.size() > 1 && token[0] == '0')) return false;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  return error == std::errc{} && end == token.data() + token.size() && number == index;
}

/// The pointers that lead through a place of the text, each with its rest.
struct Paths {
  struct Path {
    std::size_t index = 0;
    std::string_view rest;
  };
  std::array<Path, max_json_pointers> paths;
  std::size_t count = 0;

  void add(std::size_t index, std::string_view rest) { paths[count++] = {index, rest}; }
  std::span<const Path> all() const { return {paths.data(), count}; }

  /// Whether a key that starts with this character (a quote: an empty key) may match. Saves unescaping most keys, which
  /// is most of the work.
  bool may_begin_with(char c) const {
    if (c == '\\' || c == '"') return true;
    for (const Path& path : all()) {
      if (path.rest.size() > 1 && (path.rest[1] == c || path.rest[1] == '~')) return true;
    }
    return false;
  }

  template <class KeyOrIndex>
  Paths below(const KeyOrIndex& key) const {
    Paths out;
    for (const Path& path : all()) {
      if (path.rest.empty() || path.rest[0] != '/') continue;
      const std::string_view rest = path.rest.substr(1);
      const std::string_view token = rest.substr(0, rest.find('/'));
      if (token_is(token, key)) out.add(path.index, rest.substr(token.size()));
    }
    return out;
  }
};

std::string_view trimmed(std::string_view token) {
  const std::size_t last = token.find_last_not_of(" \t\r\n");
  return token.substr(0, last == token.npos ? 0 : last + 1);
}

/// A pass over a document along the paths.
class Walk final {
 public:
  Walk(std::span<JsonValue> found, base::Arena& arena) : found_{found}, arena_{arena} {}

  simdjson::error_code document(ondemand::document& document, const Paths& paths) {
    ondemand::json_type type{};
    if (const auto error = document.type().get(type)) return error;
    if (type == ondemand::json_type::object) {
      ondemand::object object;
      if (const auto error = document.get_object().get(object)) return error;
      return fields(object, paths);
    }
    if (type == ondemand::json_type::array) {
      ondemand::array array;
      if (const auto error = document.get_array().get(array)) return error;
      return elements(array, paths);
    }
    return simdjson::SUCCESS;
  }

 private:
  simdjson::error_code fields(ondemand::object& object, const Paths& paths) {
    for (auto result : object) {
      ondemand::field field;
      if (const auto error = std::move(result).get(field)) return error;
      if (!paths.may_begin_with(*field.key().raw())) continue;
      std::string_view key;
      if (field.unescaped_key().get(key)) continue;  // an invalid escape: no pointer names such a key
      const Paths here = paths.below(key);
      if (here.count == 0) continue;
      if (const auto error = value(field.value(), here)) return error;
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code elements(ondemand::array& array, const Paths& paths) {
    std::size_t index = 0;
    for (auto result : array) {
      ondemand::value element;
      if (const auto error = std::move(result).get(element)) return error;
      const Paths here = paths.below(index++);
      if (here.count == 0) continue;
      if (const auto error = value(element, here)) return error;
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code value(ondemand::value value, const Paths& paths) {
    ondemand::json_type type{};
    if (const auto error = value.type().get(type)) return error;
    JsonValue here;
    const bool container = type == ondemand::json_type::object || type == ondemand::json_type::array;
    if (!container) here = scalar(value, type);
    else here.kind = Kind::other;
    // Also for longer pointers: a repeated key replaces all values found under the earlier key.
    for (const auto& path : paths.all()) found_[path.index] = path.rest.empty() ? here : JsonValue{};
    if (type == ondemand::json_type::object) {
      ondemand::object object;
      if (const auto error = value.get_object().get(object)) return error;
      return fields(object, paths);
    }
    if (type == ondemand::json_type::array) {
      ondemand::array array;
      if (const auto error = value.get_array().get(array)) return error;
      return elements(array, paths);
    }
    return simdjson::SUCCESS;
  }

  JsonValue scalar(ondemand::value& value, ondemand::json_type type) {
    std::string_view text;
    if (type == ondemand::json_type::string) {
      if (value.get_string().get(text)) return {Kind::broken, {}};
      return {Kind::string, arena_.copy(text)};
    }
    text = trimmed(value.raw_json_token());
    if (type == ondemand::json_type::number) {
      if (event::end_of_number(text) == text.size()) return {Kind::number, arena_.copy(text)};
    } else if (text == "null") {
      return {Kind::null, {}};
    } else if (text == "true" || text == "false") {
      return {Kind::other, {}};
    }
    return {Kind::broken, {}};
  }

  std::span<JsonValue> found_;
  base::Arena& arena_;
};

simdjson::error_code find(Reader& reader, std::string_view json, const Paths& paths, std::span<JsonValue> found,
                          base::Arena& arena) {
  ondemand::document document;
  if (const auto error = reader.open(json).get(document)) return error;
  if (const auto error = Walk{found, arena}.document(document, paths)) return error;
  const bool more_follows = document.current_location().error() != simdjson::OUT_OF_BOUNDS;
  return more_follows ? simdjson::TAPE_ERROR : simdjson::SUCCESS;
}

/// The text of bytes that are a JSON string.
std::optional<std::string_view> unescaped(std::string_view json, base::Arena& arena) {
  Reader& reader = reader_of_this_thread();
  ondemand::document document;
  std::string_view text;
  const bool read = !reader.open(json).get(document) && !document.get_string().get(text) &&
                    document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  std::optional<std::string_view> out;
  if (read) out = arena.copy(text);
  reader.tidy();
  return out;
}

event::MaybeBytes unquoted(std::string_view bytes, base::Arena& arena) {
  const std::string_view inside = bytes.substr(1, bytes.size() - 2);
  if (inside.find_first_of("\"\\") == inside.npos) return inside;
  return unescaped(bytes, arena).value_or(bytes);
}

event::MaybeBytes without_schema(std::string_view bytes, base::Arena& arena) {
  constexpr std::array<std::string_view, 2> pointers{"/schema", "/payload"};
  std::array<JsonValue, 2> found;
  const auto problem = find_in_json(bytes, pointers, found, arena, config::Unwrap::none);
  if (!problem.empty() || found[0].kind == Kind::none) return bytes;
  switch (found[1].kind) {
    case Kind::null: return std::nullopt;
    case Kind::string:
    case Kind::number: return found[1].text;
    default: return bytes;
  }
}

}  // namespace

std::string_view find_in_json(std::string_view json, std::span<const std::string_view> pointers,
                              std::span<JsonValue> found, base::Arena& arena, config::Unwrap unwrap) {
  std::string storage;
  const event::JsonText text = body_in(json, unwrap, storage);
  if (!text.is_json()) return event::sentence_of(text.problem);
  Paths paths;
  for (std::size_t i = 0; i < pointers.size() && i < max_json_pointers; ++i) {
    if (pointers[i].starts_with('/')) paths.add(i, pointers[i]);
  }
  Reader& reader = reader_of_this_thread();
  const auto error = find(reader, text.text, paths, found, arena);
  reader.tidy();
  if (error == simdjson::SUCCESS) return {};
  std::fill(found.begin(), found.end(), JsonValue{});
  return simdjson::error_message(error);
}

Split split_objects(std::string_view json, std::size_t most, std::vector<std::string_view>& elements) {
  const event::JsonText text = event::json_in(json);
  if (!text.is_json()) return Split::no_objects;
  Reader& reader = reader_of_this_thread();
  const auto split = [&] {
    ondemand::document document;
    ondemand::array array;
    if (reader.open(text.text).get(document) || document.get_array().get(array)) return Split::no_objects;
    for (auto result : array) {
      ondemand::object object;
      std::string_view element;
      if (result.get_object().get(object) || object.raw_json().get(element)) return Split::no_objects;
      if (elements.size() == most) return Split::too_many;
      element = trimmed(element);  // it ends where the next token begins
      elements.push_back(text.text.substr(static_cast<std::size_t>(element.data() - reader.begin()), element.size()));
    }
    return Split::done;
  };
  const Split out = split();
  reader.tidy();
  return out;
}

bool mentions_key(std::string_view json, std::string_view key, char rarest) {
  const std::size_t before = key.find(rarest) + 1;  // with the quote
  for (std::size_t at = json.find(rarest, before); at != json.npos; at = json.find(rarest, at + 1)) {
    std::string_view rest = json.substr(at - before);
    if (rest[0] != '"' || !rest.substr(1).starts_with(key)) continue;
    rest.remove_prefix(1 + key.size());
    if (rest.starts_with('"') || rest.starts_with("\\\"")) return true;
  }
  return false;
}

event::MaybeBytes producer_text(event::MaybeBytes bytes, base::Arena& arena) {
  constexpr std::size_t max_wrapped = 16 * 1024;  // longer texts are no id or name
  if (!bytes || bytes->size() < 2 || bytes->size() > max_wrapped) return bytes;
  if ((bytes->front() & '\x80') != 0) return amqp_text(*bytes, arena).value_or(*bytes);
  if (bytes->front() == '"' && bytes->back() == '"') return unquoted(*bytes, arena);
  if (bytes->front() == '{' && bytes->back() == '}') return without_schema(*bytes, arena);
  return bytes;
}

}  // namespace inboxd::envelope
