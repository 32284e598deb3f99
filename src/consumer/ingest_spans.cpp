#include "consumer/ingest_spans.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "trace/producer.hpp"
#include "trace/trail.hpp"

namespace inboxd::consumer {
namespace {

using Places = std::unordered_map<std::int32_t, const inbox::Place*>;

/// Of the shards that were stored.
Places places_of(const Batch& batch, const std::vector<std::int32_t>& mismatched) {
  Places out;
  for (const Part& part : batch.parts) {
    const std::int32_t shard_id = part.shard->position.shard_id;
    const bool is_stored = std::find(mismatched.begin(), mismatched.end(), shard_id) == mismatched.end();
    if (is_stored) out[shard_id] = part.shard->place.get();
  }
  return out;
}

struct Traced {
  const event::Event* event = nullptr;
  const inbox::Place* place = nullptr;
  trace::Trail trail;
};

}  // namespace

void look_for_contexts(Batch& batch) {
  for (event::Event& event : batch.events) event.may_have_context = trace::producer_context(event).has_value();
}

void add_spans(trace::Tracer& tracer, const Batch& batch, const std::vector<std::int32_t>& mismatched,
               std::string_view group, trace::Span::Time begin) {
  const auto& settings = tracer.settings();
  const auto end = std::chrono::system_clock::now();
  const Places places = places_of(batch, mismatched);
  std::vector<Traced> traced;
  for (const event::Event& event : batch.events) {
    auto trail = trace::trail_of(event, settings);
    if (!trail) continue;
    const auto place = places.find(event.shard_id);
    if (place != places.end()) traced.push_back({&event, place->second, *trail});
  }
  traced.resize(tracer.room(traced.size()));
  std::vector<trace::Span> spans;
  spans.reserve(traced.size());
  for (const Traced& one : traced) {
    const trace::Origin origin{one.place->topic, one.place->partition, group};
    trace::Span& span = spans.emplace_back(trace::ingest_span(one.trail, *one.event, origin, settings));
    span.begin = begin;
    span.end = end;
  }
  tracer.add(std::move(spans));
}

}  // namespace inboxd::consumer
