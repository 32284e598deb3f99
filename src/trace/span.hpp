#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "trace/context.hpp"

namespace inboxd::trace {

/// Something that took time, as OpenTelemetry sees it. A value.
struct Span {
  using Time = std::chrono::system_clock::time_point;
  /// A key is a constant of this program.
  using Attribute = std::pair<std::string_view, std::variant<std::string, std::int64_t>>;

  TraceId trace{};
  SpanId id{};
  std::optional<SpanId> parent;
  std::optional<Context> link;
  std::string name;  ///< a verb and what it was done to, few of them: `handle receipt`
  Time begin;
  Time end;
  std::vector<Attribute> attributes;
  std::optional<std::string> failure;  ///< why it failed, where it did
};

/// Who sends spans, said with each load of them.
struct Resource {
  std::string service;
  std::string instance;
  std::string version;
};

/// A request's body: OTLP's ExportTraceServiceRequest as JSON.
std::string otlp_json(const Resource& resource, const std::vector<Span>& spans);

}  // namespace inboxd::trace
