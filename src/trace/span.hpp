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

/// A step on an event's way that took time, as OpenTelemetry sees it. A value and a small one, since thousands may wait
/// for the collector: what it is called and its attributes are put into words when it is sent.
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
  std::string event_type;  ///< empty: it has none
  std::string topic;       ///< of step `publish`: where to, which has no partition and offset that are known
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string group;  ///< of consumers; may be empty

  std::string handler;                 ///< of steps `handle` and `publish`, as the following
  std::int32_t attempt = 0;            ///< 1 is the first
  std::string system;                  ///< of step `publish`: what carries the message; may be empty
  std::string_view outcome;            ///< of step `handle`: a constant of this program; empty: not known
  std::string error_type;              ///< empty: it did not fail
  std::optional<std::string> failure;  ///< why it failed, where it did
};

/// A verb and what it was done to, few of them: `handle receipt`.
std::string name_of(const Span& span);

/// Who sends spans, said with each load of them.
struct Resource {
  std::string service;
  std::string instance;
  std::string version;
};

/// A request's body: OTLP's ExportTraceServiceRequest as JSON.
std::string otlp_json(const Resource& resource, const std::vector<Span>& spans);

}  // namespace inboxd::trace
