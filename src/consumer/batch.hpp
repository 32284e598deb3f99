#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.hpp"
#include "consumer/shard.hpp"
#include "envelope/decode.hpp"
#include "event/event.hpp"
#include "inbox/ingest.hpp"
#include "kafka/handle.hpp"
#include "trace/tracer.hpp"

namespace inboxd::consumer {

/// Counts of decoded records by the rule that matched (the last: none) and by result.
template <class Number>
using DecodeCounts = std::array<std::array<Number, envelope::decode_results>, envelope::max_rules + 1>;

/// The records of a shard in a batch.
struct Part {
  Shard* shard = nullptr;
  std::vector<const rd_kafka_message_t*> messages;  ///< by offset
  std::int64_t next_offset = 0;                     ///< after the last record, skipped control records included
  std::int32_t leader_epoch = -1;
  DecodeCounts<std::uint32_t> decoded{};  ///< filled by `decode`
};

/// An error that the client library delivered for a partition in place of a record.
struct PartitionError {
  Shard* shard = nullptr;
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string message;
};
/// The log does not hold the position, or is another log.
bool is_about_position(rd_kafka_resp_err_t code);
/// The record was damaged on the network or on the broker's disk.
bool is_corruption(rd_kafka_resp_err_t code);
/// The client library retries by itself.
bool is_passing(rd_kafka_resp_err_t code);

/// A record that ends its partition's part of the batch.
struct RefusedRecord {
  enum class Cause {
    quarantine_is_full,
    registry,  ///< it does not answer
    size,      ///< the decoded records before it fill the batch
  };
  Shard* shard = nullptr;
  std::int64_t offset = 0;
  Cause cause = Cause::quarantine_is_full;
  std::string why;  ///< a sentence
};

/// Records of several shards that are stored in a single transaction, and the memory they point to.
struct Batch {
  std::vector<kafka::Message> messages;
  std::vector<Part> parts;
  std::vector<PartitionError> errors;
  std::size_t bytes = 0;

  // Filled by `decode`:
  base::Arena arena;
  std::vector<event::Event> events;  ///< by shard, then offset
  std::vector<inbox::QuarantinedRecord> rejected;
  std::vector<RefusedRecord> refused;  ///< they and all later records of their partitions are left out

  std::vector<inbox::StagedEvent> staged;  ///< of local events, in place of `messages`

  std::size_t records() const { return messages.size() + staged.size(); }
  bool empty() const { return parts.empty(); }
};

/// The bytes of a message that count against the limits: key, payload and headers.
std::size_t size_of(const rd_kafka_message_t& message);

/// The record of a message, as views into it. `headers` is reused to save allocations. A timestamp in another unit
/// than Kafka's is told by its magnitude; a timestamp before 1970 is kept raw in a header of our own, the last header.
event::Record record_of(const rd_kafka_message_t& message, std::vector<event::Header>&& headers, base::Arena& arena);

/// Adds a decoded record: an event, a record for quarantine, or nothing.
void add(Batch& batch, std::int32_t shard_id, const event::Record& record, envelope::Decoded& decoded);

/// Decodes the batch's records into events and rejects, shards in order of their id. `quarantine_is_full`: a reject
/// ends its shard's part of the batch, and is refused. `max_decoded`: bytes of memory that decoding
/// may take; the batch ends there, or after seconds of waiting for schemas, but each part has a record.
void decode(Batch& batch, bool quarantine_is_full, std::size_t max_decoded);

/// A record for quarantine, with as many raw bytes as the limits allow.
inbox::QuarantinedRecord quarantined(const event::Record& record, std::int32_t shard_id, std::string reason,
                                     const std::string& detail, bool with_payload, base::Arena& arena);

/// An event that the database refused, raw, for quarantine.
inbox::QuarantinedRecord quarantined(const event::Event& event, const std::string& detail);

/// Marks the events that carry a trace context, so that no later step searches for a context. Before the hand-over.
void look_for_contexts(Batch& batch);

/// Adds a span, from `begin` until now, for each traced event of a batch that was just stored, the `mismatched` shards
/// left out. Spans for which the tracer has no room are not built.
void add_spans(trace::Tracer& tracer, const Batch& batch, const std::vector<std::int32_t>& mismatched,
               std::string_view group, trace::Span::Time begin);

}  // namespace inboxd::consumer
