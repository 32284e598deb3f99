#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.hpp"
#include "consumer/beginning.hpp"
#include "consumer/counts.hpp"
#include "consumer/letters.hpp"
#include "consumer/silence.hpp"
#include "envelope/decode.hpp"
#include "event/event.hpp"
#include "inbox/claim.hpp"
#include "inbox/ingest.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// A shard as its ingester knows it. Read only while `reading`; everything else that arrives is dropped, because after
/// a doubt the position is looked up and the partition sought again.
struct Shard {
  Assignment assignment;
  bool reading = false;
  /// A record could not be read: nothing behind it counts until the position is looked up again.
  bool broken = false;
  inbox::ShardPosition position;               ///< next_offset: what the database is expected to say
  bool has_lag = false;                        ///< the position is known, and one in the log that the partition has now
  envelope::TopicRules rules;
  std::shared_ptr<const inbox::Place> place;
  /// It was not readable, and is read again: the reason stays until a record, or the end, was read.
  std::optional<std::string> standing_reason;
  bool proven = false;  ///< something was read since the position was looked up
  Beginning beginning = {};
  Silence silence = {};
};

/// What of a batch belongs to one shard.
struct Part {
  Shard* shard = nullptr;
  std::vector<const rd_kafka_message_t*> messages;  ///< by offset
  std::int64_t next_offset = 0;                ///< behind the last record, also where only control records were skipped
  std::int32_t leader_epoch = -1;
  DecodeCounts<std::uint32_t> decoded{};  ///< made by `decode`
};

/// A broker's or the client's complaint about one partition.
struct PartitionError {
  Shard* shard = nullptr;
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string message;
};

/// Records of several shards that are stored in one transaction, and the memory that they point to.
struct Batch {
  std::vector<kafka::Message> messages;
  std::vector<Part> parts;
  std::vector<PartitionError> errors;
  std::size_t bytes = 0;

  // Made of the parts by `decode`:
  base::Arena arena;
  std::vector<event::Event> events;            ///< by shard, then offset
  std::vector<inbox::QuarantinedRecord> rejected;

  bool empty() const { return parts.empty(); }
};

/// What of a message counts against the limits: key, payload and headers.
std::size_t size_of(const rd_kafka_message_t& message);

/// The record of a message: views into it. `headers` is reused to save allocations.
event::Record record_of(const rd_kafka_message_t& message, std::vector<event::Header>&& headers);

/// Reads the batch's records into events and rejects, shards in order of their id.
void decode(Batch& batch);

/// A record for quarantine, with its raw bytes as far as the limits allow.
inbox::QuarantinedRecord quarantined(const event::Record& record, std::int32_t shard_id, std::string reason,
                                     std::string detail, bool with_payload, base::Arena& arena);

/// A stored event's raw bytes for quarantine: the database refused it.
inbox::QuarantinedRecord quarantined(const event::Event& event, const std::string& detail);

}  // namespace inboxd::consumer
