#include "record_headers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace kafka_handler {
namespace {

constexpr std::array<std::string_view, 12> ours{
    "ce_specversion", "ce_id",           "ce_source",    "ce_type",          "ce_traceparent", "ce_tracestate",
    "traceparent",    "inboxd-event-id", "inboxd-topic", "inboxd-partition", "inboxd-offset",  "tracestate"};

void add(rd_kafka_headers_t* headers, std::string_view name, inboxd::MaybeText value) {
  const void* const bytes = value ? value->data() == nullptr ? "" : value->data() : nullptr;
  rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), bytes,
                      value ? static_cast<ssize_t>(value->size()) : 0);
}

}  // namespace

RecordHeaders headers_of(const inboxd::Event& event, bool keep, inboxd::MaybeText traceparent,
                         inboxd::MaybeText tracestate) {
  RecordHeaders out{rd_kafka_headers_new(16)};
  if (keep && event.raw().has_headers != 0) {
    for (const inboxd::Header& header : event.headers()) {
      if (std::find(ours.begin(), ours.end(), header.name) == ours.end()) add(out.get(), header.name, header.value);
    }
  }
  add(out.get(), "ce_specversion", "1.0");
  add(out.get(), "ce_id", event.source_id());
  // CloudEvents requires a source; identity is source and id, so it must be the same on every attempt.
  add(out.get(), "ce_source", event.source() ? *event.source() : event.topic());
  add(out.get(), "ce_type", event.type());
  add(out.get(), "inboxd-event-id", event.id());
  add(out.get(), "inboxd-topic", event.topic());
  add(out.get(), "inboxd-partition", std::to_string(event.partition()));
  add(out.get(), "inboxd-offset", std::to_string(event.offset()));
  if (traceparent) add(out.get(), "traceparent", traceparent);
  if (traceparent && tracestate) add(out.get(), "tracestate", tracestate);
  return out;
}

}  // namespace kafka_handler
