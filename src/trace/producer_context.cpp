#include "trace/producer_context.hpp"

#include <algorithm>
#include <array>

#include "event/headers.hpp"
#include "event/json_text.hpp"

namespace inboxd::trace {
namespace {

using event::MaybeBytes;

/// Iterates over the top members of a JSON object. Values are skipped by brackets and strings, however deep; nothing
/// else is validated.
class TopMembers final {
 public:
  explicit TopMembers(std::string_view json) : rest_{json} { is_at_end_ = !take('{'); }

  std::string_view name;
  MaybeBytes text;  ///< of the value, if it is a string without escapes

  bool next() {
    if (is_at_end_ || !string()) return false;
    name = string_;
    if (!take(':')) return false;
    const bool is_text = peek() == '"' && string() && string_.find('\\') == string_.npos;
    text = is_text ? MaybeBytes{string_} : std::nullopt;
    is_at_end_ = !skip_value();
    return true;
  }

 private:
  char peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return false;
    string_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }

  /// Moves past the comma after the value; false: there is none.
  bool skip_value() {
    for (std::size_t depth = 0; !rest_.empty();) {
      const char c = rest_[0];
      if (c == '"') {
        if (!string()) return false;
        continue;
      }
      rest_.remove_prefix(1);
      if (c == '{' || c == '[') ++depth;
      if (c == ',' && depth == 0) return true;
      if ((c == '}' || c == ']') && depth-- == 0) return false;
    }
    return false;
  }

  std::string_view rest_;
  std::string_view string_;
  bool is_at_end_ = false;
};

/// Spares nearly all payloads the walk. Every event passes here, so the first test has no branches: the compiler turns
/// it into a few instructions for 16 bytes.
bool mentions_traceparent(std::string_view payload) {
  static constexpr std::string_view word = "\"traceparent\"";
  constexpr std::size_t middle = word.find('p'), last = word.size() - 1;
  if (payload.size() < word.size()) return false;
  const char* const text = payload.data();
  unsigned char is_likely = 0;
  for (std::size_t i = 0; i < payload.size() - last; ++i) {
    is_likely |= static_cast<unsigned char>((text[i] == '"') & (text[i + middle] == 'p') & (text[i + last] == '"'));
  }
  return is_likely != 0 && payload.find(word) != payload.npos;
}

/// Rejects payloads that are not JSON before the search.
bool may_begin_object(char c) { return c == '{' || c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

ProducerTexts in_payload(std::string_view payload) {
  payload = event::without_prefix(payload);
  if (payload.empty() || !may_begin_object(payload[0]) || !mentions_traceparent(payload)) return {};
  TopMembers members{payload};
  ProducerTexts out;
  bool is_cloudevent = false;
  while (members.next()) {
    if (members.name == "specversion") is_cloudevent = members.text.has_value();
    if (members.name == "traceparent") out.traceparent = members.text;
    if (members.name == "tracestate") out.tracestate = members.text;
  }
  return is_cloudevent ? out : ProducerTexts{};
}

MaybeBytes find_any(std::string_view headers, const std::array<const char*, 3>& names, bool (*fits)(std::string_view)) {
  for (const char* const name : names) {
    const auto header = event::find_packed(headers, name);
    if (header && header->value && fits(*header->value)) return header->value;
  }
  return std::nullopt;
}

bool is_traceparent(std::string_view text) { return parse_traceparent(text).has_value(); }

/// The known part: later versions may append any bytes, and those could break out of a header.
MaybeBytes known_part(MaybeBytes text) { return text ? MaybeBytes{text->substr(0, traceparent_length)} : std::nullopt; }

/// Valid in an HTTP header: cannot end it.
bool is_tracestate(std::string_view text) {
  constexpr std::size_t longest = 4'096;
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

ProducerTexts producer_texts(const event::Event& event) {
  ProducerTexts out;
  if (event.headers) {
    out.traceparent = find_any(*event.headers, {"traceparent", "ce_traceparent", "ce-traceparent"}, is_traceparent);
    if (out.traceparent) {
      out.tracestate = find_any(*event.headers, {"tracestate", "ce_tracestate", "ce-tracestate"}, is_tracestate);
    }
  }
  if (!out.traceparent && event.payload) out = in_payload(*event.payload);
  if (out.traceparent && !is_traceparent(*out.traceparent)) out.traceparent.reset();
  out.traceparent = known_part(out.traceparent);
  if (!out.traceparent || (out.tracestate && !is_tracestate(*out.tracestate))) out.tracestate.reset();
  return out;
}

std::optional<Context> producer_context(const event::Event& event) {
  const auto text = producer_texts(event).traceparent;
  return text ? parse_traceparent(*text) : std::nullopt;
}

}  // namespace inboxd::trace
