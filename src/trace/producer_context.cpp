#include "trace/producer_context.hpp"

#include <algorithm>
#include <array>

#include "event/headers.hpp"
#include "event/json_text.hpp"
#include "event/top_members.hpp"

namespace inboxd::trace {
namespace {

using event::MaybeBytes;

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
  event::TopMembers members{payload};
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

/// The known part: later versions may append any bytes, which could break out of a header.
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
  if (!out.traceparent && event.json()) out = in_payload(*event.json());
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
