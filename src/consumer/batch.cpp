#include "consumer/batch.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "envelope/identity.hpp"
#include "event/headers.hpp"

namespace inboxd::consumer {
namespace {

constexpr std::size_t longest_detail = 500;
/// What is kept of the headers of a record that is too large.
constexpr std::size_t most_header_bytes = 8 << 10;
/// What a header takes beside its name and its value.
constexpr std::size_t header_overhead = 8;

event::MaybeBytes bytes_of(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string_view{static_cast<const char*>(data), size};
}

void read_headers(const rd_kafka_message_t& message, std::vector<event::Header>& out) {
  out.clear();
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    out.push_back({name, bytes_of(value, size)});
  }
}

event::MaybeBytes packed_headers(const std::vector<event::Header>& headers, base::Arena& arena) {
  if (headers.empty()) return std::nullopt;
  return event::pack_headers(headers, arena);
}

/// The first headers, as many as the limit allows.
std::vector<event::Header> first_of(const std::vector<event::Header>& headers) {
  std::vector<event::Header> out;
  std::size_t size = 0;
  for (const event::Header& header : headers) {
    size += event::packed_size({header});
    if (size > most_header_bytes) break;
    out.push_back(header);
  }
  return out;
}

}  // namespace

std::size_t size_of(const rd_kafka_message_t& message) {
  std::size_t size = message.len + message.key_len;
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return size;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t length = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &length) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    size += header_overhead + std::strlen(name) + length;
  }
  return size;
}

event::Record record_of(const rd_kafka_message_t& message, std::vector<event::Header>&& headers) {
  event::Record record;
  record.topic = rd_kafka_topic_name(message.rkt);
  record.partition = message.partition;
  record.offset = message.offset;
  record.leader_epoch = rd_kafka_message_leader_epoch(&message);
  record.key = bytes_of(message.key, message.key_len);
  record.payload = bytes_of(message.payload, message.len);
  record.headers = std::move(headers);
  read_headers(message, record.headers);
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const std::int64_t milliseconds = rd_kafka_message_timestamp(&message, &type);
  // Beyond these bounds microseconds do not fit; the envelope judges what is left.
  constexpr std::int64_t most = 9'000'000'000'000'000;
  if (type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && milliseconds >= 0 && milliseconds < most) {
    record.timestamp = milliseconds * 1000;
  }
  return record;
}

void decode(Batch& batch) {
  std::sort(batch.parts.begin(), batch.parts.end(), [](const Part& a, const Part& b) {
    return a.shard->position.shard_id < b.shard->position.shard_id;
  });
  batch.events.reserve(batch.messages.size());
  std::vector<event::Header> headers;
  for (Part& part : batch.parts) {
    const std::int32_t shard_id = part.shard->position.shard_id;
    for (const rd_kafka_message_t* message : part.messages) {
      event::Record record = record_of(*message, std::move(headers));
      std::size_t rule = envelope::most_rules;
      auto decoded = envelope::decode(record, part.shard->rules, batch.arena, &rule);
      ++part.decoded[rule][envelope::result_of(decoded)];
      if (auto* event = std::get_if<event::Event>(&decoded)) {
        event->shard_id = shard_id;
        batch.events.push_back(*event);
      } else if (auto* rejected = std::get_if<envelope::Rejected>(&decoded)) {
        const bool with_payload = rejected->reason != envelope::Rejection::too_large;
        batch.rejected.push_back(quarantined(record, shard_id, std::string{envelope::name_of(rejected->reason)},
                                             std::move(rejected->detail), with_payload, batch.arena));
      }
      headers = std::move(record.headers);
    }
  }
}

inbox::QuarantinedRecord quarantined(const event::Record& record, std::int32_t shard_id, std::string reason,
                                     std::string detail, bool with_payload, base::Arena& arena) {
  inbox::QuarantinedRecord out;
  out.shard_id = shard_id;
  out.offset = record.offset;
  out.reason = std::move(reason);
  out.detail = base::escape_controls(base::shorten(detail, longest_detail));
  if (with_payload) {
    out.key = record.key;
    out.payload = record.payload;
  }
  out.headers = packed_headers(with_payload ? record.headers : first_of(record.headers), arena);
  out.payload_size = record.payload ? static_cast<std::int64_t>(record.payload->size()) : 0;
  out.digest = envelope::digest_of(record.key, record.payload);
  out.kafka_timestamp = record.timestamp;
  return out;
}

inbox::QuarantinedRecord quarantined(const event::Event& event, const std::string& detail) {
  inbox::QuarantinedRecord out;
  out.shard_id = event.shard_id;
  out.offset = event.offset;
  out.reason = "poison";
  out.detail = base::escape_controls(base::shorten(detail, longest_detail));
  out.key = event.key;
  out.payload = event.payload;
  out.headers = event.headers;
  out.payload_size = event.payload ? static_cast<std::int64_t>(event.payload->size()) : 0;
  out.digest = event.digest;
  out.kafka_timestamp = event.kafka_timestamp;
  return out;
}

}  // namespace inboxd::consumer
