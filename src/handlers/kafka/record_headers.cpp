#include "record_headers.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kafka_handler {
namespace {

constexpr std::array<std::string_view, 13> headers_of_copies{
    "ce_specversion",  "ce_id",        "ce_source",        "ce_type",       "ce_traceparent",
    "ce_tracestate",   "traceparent",  "tracestate",       "inboxd-topic",  "inboxd-payload-sha256",
    "inboxd-event-id", "inboxd-offset", "inboxd-partition"};

void add(rd_kafka_headers_t* headers, std::string_view name, inboxd::MaybeText value) {
  const void* const bytes = value ? value->data() == nullptr ? "" : value->data() : nullptr;
  rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), bytes,
                      value ? static_cast<ssize_t>(value->size()) : 0);
}

/// In hexadecimal digits: an inbox that reads the record compares it with the payload's.
std::string digest_of(inboxd::MaybeText payload) {
  if (!payload) return "null";
  static constexpr char digits[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(payload->data(), payload->size(), digest, &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error{"OpenSSL could not compute SHA-256"};
  }
  std::string out;
  for (unsigned int i = 0; i < size; ++i) {
    out += digits[digest[i] >> 4];
    out += digits[digest[i] & 15];
  }
  return out;
}

/// Of the bytes that were decoded, not of their JSON.
bool is_of_former_format(const inboxd::Header& header) {
  if (header.name == "__value_schema_id") return true;
  if (header.name != "content-type" && header.name != "contentType") return false;
  const std::string_view value = header.value.value_or("");
  return value.find("avro") != std::string_view::npos || value.find("protobuf") != std::string_view::npos;
}

}  // namespace

RecordHeaders headers_of(const inboxd::Event& event, inboxd::MaybeText payload, bool is_decoded, bool keep,
                         inboxd::MaybeText traceparent, inboxd::MaybeText tracestate) {
  RecordHeaders out{rd_kafka_headers_new(16)};
  if (keep && event.raw().has_headers != 0) {
    for (const inboxd::Header& header : event.headers()) {
      const auto* const of_copy = std::find(headers_of_copies.begin(), headers_of_copies.end(), header.name);
      if (is_decoded && is_of_former_format(header)) continue;
      if (of_copy == headers_of_copies.end()) add(out.get(), header.name, header.value);
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
  add(out.get(), "inboxd-payload-sha256", digest_of(payload));
  if (traceparent) add(out.get(), "traceparent", traceparent);
  if (traceparent && tracestate) add(out.get(), "tracestate", tracestate);
  return out;
}

}  // namespace kafka_handler
