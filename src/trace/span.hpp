#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.hpp"
#include "trace/context.hpp"

namespace inboxd::trace {

/// A timed step of an event, as OpenTelemetry sees it. A small value, since thousands may wait for the collector; names
/// and attributes are formatted when it is sent.
struct Span {
  using Time = std::chrono::system_clock::time_point;
  enum class Step : std::uint8_t { ingest, handle, publish };

  TraceId trace{};
  SpanId id{};
  std::optional<SpanId> parent;
  std::optional<Context> link;
  Step step = Step::ingest;
  Time begin;
  Time end;

  base::Uuid event_id;
  std::string event_type;  ///< may be empty
  std::string topic;       ///< of step `publish`: the target, whose partition and offset are unknown
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string group;  ///< Kafka consumer group; may be empty

  std::string handler;                 ///< of steps `handle` and `publish`, as the following
  std::int32_t attempt = 0;            ///< 1 is the first
  std::string system;                  ///< of step `publish`: the messaging system; may be empty
  std::string_view outcome;            ///< of step `handle`: a constant of this program; empty: unknown
  std::string error_type;              ///< empty: no failure
  std::optional<std::string> failure;  ///< the failure's message
};

/// The span's name, of low cardinality: `handle receipt`.
std::string name_of(const Span& span);

/// The sender of spans, part of each request.
struct Resource {
  std::string service;
  std::string instance;
  std::string version;
};

/// A request body: OTLP's ExportTraceServiceRequest as JSON.
std::string otlp_json(const Resource& resource, const std::vector<Span>& spans);

}  // namespace inboxd::trace
