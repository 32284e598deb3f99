#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "consumer/batch.hpp"
#include "trace/tracer.hpp"

namespace inboxd::consumer {

/// Looks which events carry a trace context, so that nobody has to look again: before they are handed over.
void look_for_contexts(Batch& batch);

/// Gives the tracer a span of each event that is traced, from `begin` until now: the batch was just stored, but for
/// what came of the shards `mismatched`. Where the tracer has no room, nothing is made for it.
void add_spans(trace::Tracer& tracer, const Batch& batch, const std::vector<std::int32_t>& mismatched,
               std::string_view group, trace::Span::Time begin);

}  // namespace inboxd::consumer
