#include "trace/trail.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "trace/producer_context.hpp"

namespace inboxd::trace {
namespace {

/// Spreads a difference of few bits over all of them (the finalizer of splitmix64). It runs for every event that is
/// looked at, and needs no cryptographic strength.
std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

/// Of all bytes of an id: some parts are a time, or equal in all ids of a version.
std::uint64_t mixed_id(const base::Uuid& id) {
  std::array<std::uint64_t, 2> halves{};
  std::memcpy(halves.data(), id.bytes.data(), sizeof halves);
  return mix(halves[0] ^ mix(halves[1]));
}

/// A span id for each record: the same event at another offset is another span.
SpanId ingest_id_of(const event::Event& event) {
  const auto shard = static_cast<std::uint64_t>(event.shard_id);
  const std::uint64_t place = mix(static_cast<std::uint64_t>(event.offset)) ^ shard;
  const std::uint64_t bits = mix(mixed_id(event.event_id) ^ mix(place));
  SpanId out{};
  std::memcpy(out.data(), &bits, out.size());
  if (bits == 0) out[0] = 1;  // zeros are invalid by the W3C
  return out;
}

/// The sampling decision, the same in every process.
bool is_drawn(const event::Event& event, double share) {
  if (share <= 0 || share >= 1) return share >= 1;
  return static_cast<double>(mixed_id(event.event_id) >> 32) < share * 4'294'967'296.0;
}

Span span_of(const Trail& trail, Span::Step step, const event::Event& event, const Origin& origin) {
  Span out;
  out.trace = trail.trace;
  out.step = step;
  out.event_id = event.event_id;
  out.event_type = event.event_type;
  out.topic = origin.topic;
  out.partition = origin.partition;
  out.offset = event.offset;
  out.group = origin.group;
  return out;
}

}  // namespace

std::optional<Trail> trail_of(const event::Event& event, const config::Tracing& settings) {
  Trail out;
  if (event.may_have_context) out.producer = producer_context(event);
  const bool is_wanted = out.producer ? out.producer->is_sampled : is_drawn(event, settings.sample);
  if (!is_wanted || event.event_id == base::Uuid{}) return std::nullopt;
  const bool goes_on = out.producer && settings.relation == config::TraceRelation::parent;
  out.trace = goes_on ? out.producer->trace : event.event_id.bytes;
  out.ingest = ingest_id_of(event);
  return out;
}

Span ingest_span(const Trail& trail, const event::Event& event, const Origin& origin, const config::Tracing& settings) {
  Span out = span_of(trail, Span::Step::ingest, event, origin);
  out.id = trail.ingest;
  if (trail.producer && settings.relation == config::TraceRelation::parent) out.parent = trail.producer->span;
  if (trail.producer && settings.relation == config::TraceRelation::link) out.link = trail.producer;
  return out;
}

Span handle_span(const Trail& trail, const SpanId& id, const event::Event& event, const Origin& origin,
                 std::string_view handler, std::int32_t attempt) {
  Span out = span_of(trail, Span::Step::handle, event, origin);
  out.id = id;
  out.parent = trail.ingest;
  out.handler = handler;
  out.attempt = attempt;
  return out;
}

Span publish_span(const Context& attempt_span, const SpanId& id, const event::Event& event, std::string_view handler,
                  std::int32_t attempt) {
  Span out;
  out.trace = attempt_span.trace;
  out.parent = attempt_span.span;
  out.id = id;
  out.step = Span::Step::publish;
  out.event_id = event.event_id;
  out.event_type = event.event_type;
  out.handler = handler;
  out.attempt = attempt;
  return out;
}

}  // namespace inboxd::trace
