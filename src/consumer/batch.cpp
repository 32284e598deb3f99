#include "consumer/batch.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "envelope/identity.hpp"
#include "envelope/time.hpp"
#include "event/headers.hpp"
#include "trace/producer_context.hpp"
#include "trace/trail.hpp"

namespace inboxd::consumer {
namespace {

/// The most header bytes kept of a record that is too large.
constexpr std::size_t max_header_bytes = 8 << 10;
/// Bytes of a header in addition to its name and value.
constexpr std::size_t header_overhead = 8;
/// The record's own timestamp, if it is before 1970, as text.
constexpr std::string_view raw_timestamp_header = "inboxd-kafka-timestamp";
constexpr std::int64_t no_timestamp = -1;

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

/// The first headers, as many as fit into the limit.
std::vector<event::Header> first_of(const std::vector<event::Header>& headers) {
  std::vector<event::Header> out;
  std::size_t size = 0;
  for (const event::Header& header : headers) {
    size += event::packed_size({header});
    if (size > max_header_bytes) break;
    out.push_back(header);
  }
  return out;
}

using Places = std::unordered_map<std::int32_t, const inbox::Place*>;

/// The stored shards.
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

event::Record record_of(const rd_kafka_message_t& message, std::vector<event::Header>&& headers, base::Arena& arena) {
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
  const std::int64_t timestamp = rd_kafka_message_timestamp(&message, &type);
  if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || timestamp == no_timestamp) return record;
  if (timestamp >= 0) {
    record.timestamp = envelope::time_of(timestamp);  // milliseconds, but some producers send another unit
  } else {
    // At the end: the last header of a name wins over a producer's header of the same name.
    record.headers.push_back({raw_timestamp_header, arena.copy(std::to_string(timestamp))});
  }
  return record;
}

namespace {

/// The part ends before a record. It may be left without any.
void cut(Part& part, const rd_kafka_message_t& before) {
  const auto at = std::find(part.messages.begin(), part.messages.end(), &before);
  part.messages.erase(at, part.messages.end());
  part.next_offset = before.offset;
  part.leader_epoch = part.messages.empty() ? -1 : rd_kafka_message_leader_epoch(part.messages.back());
}

/// Why a decoded record ends its part of the batch, without its place; nullopt: it does not.
std::optional<RefusedRecord> refusal_of(const envelope::Decoded& decoded, bool quarantine_is_full) {
  using Cause = RefusedRecord::Cause;
  if (const auto* waiting = std::get_if<envelope::Waiting>(&decoded)) {
    return RefusedRecord{nullptr, 0, Cause::registry, waiting->detail};
  }
  if (const auto* rejected = std::get_if<envelope::Rejected>(&decoded); rejected != nullptr && quarantine_is_full) {
    return RefusedRecord{nullptr, 0, Cause::quarantine_is_full,
                         std::string{envelope::name_of(rejected->reason)} + ": " + rejected->detail};
  }
  return std::nullopt;
}

/// What decoding may cost a batch: memory, and time, which schemas that are fetched take, too. Each part gets a record
/// further, unless it exceeds twice the limits.
class Budget final {
 public:
  Budget(const base::Arena& arena, std::size_t max_bytes)
      : arena_{arena}, limit_{arena.used() + max_bytes}, end_{Clock::now() + max_time} {
    hard_limit_ = limit_ + max_bytes;
  }

  bool is_spent(bool has_record) const {
    const auto now = Clock::now();
    if (arena_.used() > hard_limit_ || now > end_ + max_time) return true;
    return has_record && (arena_.used() > limit_ || now > end_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds max_time{2};

  const base::Arena& arena_;
  const std::size_t limit_;
  std::size_t hard_limit_ = 0;
  const Clock::time_point end_;
};

}  // namespace

void add(Batch& batch, std::int32_t shard_id, const event::Record& record, envelope::Decoded& decoded) {
  if (auto* event = std::get_if<event::Event>(&decoded)) {
    event->shard_id = shard_id;
    batch.events.push_back(*event);
  } else if (auto* rejected = std::get_if<envelope::Rejected>(&decoded)) {
    const bool with_payload = rejected->reason != envelope::Rejection::too_large;
    batch.rejected.push_back(quarantined(record, shard_id, std::string{envelope::name_of(rejected->reason)},
                                         rejected->detail, with_payload, batch.arena));
  }
}

void decode(Batch& batch, bool quarantine_is_full, std::size_t max_decoded) {
  std::sort(batch.parts.begin(), batch.parts.end(),
            [](const Part& a, const Part& b) { return a.shard->position.shard_id < b.shard->position.shard_id; });
  batch.events.reserve(batch.messages.size());
  std::vector<event::Header> headers;
  const Budget budget{batch.arena, max_decoded};
  for (Part& part : batch.parts) {
    const std::int32_t shard_id = part.shard->position.shard_id;
    const bool has_format = part.shard->rules.decoder != nullptr;
    for (std::size_t i = 0; i < part.messages.size(); ++i) {
      const rd_kafka_message_t& message = *part.messages[i];
      if (has_format && budget.is_spent(i > 0)) {
        batch.refused.push_back({part.shard, message.offset, RefusedRecord::Cause::size, {}});
        cut(part, message);
        break;
      }
      event::Record record = record_of(message, std::exchange(headers, {}), batch.arena);
      std::size_t rule = envelope::max_rules;
      auto decoded = envelope::decode(record, part.shard->rules, batch.arena, &rule);
      if (auto refused = refusal_of(decoded, quarantine_is_full)) {
        refused->shard = part.shard;
        refused->offset = message.offset;
        batch.refused.push_back(*std::move(refused));
        cut(part, message);
        break;
      }
      ++part.decoded[rule][envelope::result_of(decoded)];
      add(batch, shard_id, record, decoded);
      headers = std::move(record.headers);
    }
  }
  std::erase_if(batch.parts, [](const Part& part) {
    return part.messages.empty() && part.next_offset <= part.shard->position.next_offset;
  });
}

inbox::QuarantinedRecord quarantined(const event::Record& record, std::int32_t shard_id, std::string reason,
                                     const std::string& detail, bool with_payload, base::Arena& arena) {
  inbox::QuarantinedRecord out;
  out.shard_id = shard_id;
  out.offset = record.offset;
  out.reason = std::move(reason);
  out.detail = inbox::quarantine_detail(detail);
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
  out.detail = inbox::quarantine_detail(detail);
  out.key = event.key;
  out.payload = event.payload;
  out.headers = event.headers;
  out.payload_size = event.payload ? static_cast<std::int64_t>(event.payload->size()) : 0;
  out.digest = event.digest;
  out.kafka_timestamp = event.kafka_timestamp;
  return out;
}

bool is_about_position(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE ||
         code == RD_KAFKA_RESP_ERR__LOG_TRUNCATION;
}

bool is_corruption(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__BAD_MSG || code == RD_KAFKA_RESP_ERR__BAD_COMPRESSION ||
         code == RD_KAFKA_RESP_ERR_INVALID_MSG || code == RD_KAFKA_RESP_ERR__INCONSISTENT;
}

bool is_passing(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
         code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
         code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION || code == RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH ||
         code == RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH || code == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT ||
         code == RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE;
}

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
