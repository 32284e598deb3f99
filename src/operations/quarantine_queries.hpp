#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event/event.hpp"
#include "inbox/connection.hpp"
#include "operations/operation.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::operations {

/// Selects quarantined records. Every given field must match.
struct QuarantineFilter {
  std::vector<std::string> topics;  ///< exact or prefix*; empty = all
  std::vector<std::string> reasons;
  Period received;
  std::vector<std::int64_t> quarantine_ids;  ///< empty: any
};

/// The newest records with numbers below `before` (nullopt: any), as columns::quarantined_record. Ignores the ids.
Document list_quarantined(inbox::Connection& connection, const QuarantineFilter& filter, std::int64_t limit,
                          std::optional<std::int64_t> before);

/// As columns::quarantine_group, the largest first. Ignores the ids.
Document group_quarantined(inbox::Connection& connection, const QuarantineFilter& filter, std::int64_t limit);

/// Likewise, with payload and headers.
Document find_quarantined(inbox::Connection& connection, std::int64_t quarantine_id);

Document find_quarantined(inbox::Connection& connection, const std::string& topic, std::int32_t partition,
                          std::int64_t offset);

struct PickedRecord {
  std::int64_t quarantine_id = 0;
  std::string topic;
  std::int64_t bytes = 0;  ///< key, payload and headers
  bool was_kept = true;    ///< false: too large; only size and digest are known
};

/// The records to retry or discard, in the order of their offsets; records that were not kept come last.
std::vector<PickedRecord> pick_quarantined(inbox::Connection& connection, const QuarantineFilter& filter,
                                           std::int64_t limit);

/// A record as it came from Kafka, to be decoded again.
struct RawRecord {
  std::int64_t quarantine_id = 0;
  std::int32_t shard_id = 0;
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string log_id;  ///< as ShardPosition::log_id
  std::optional<std::string> key;
  std::optional<std::string> payload;
  std::optional<std::string> headers;  ///< packed
  std::optional<event::Microseconds> kafka_timestamp;
};

/// As views into it.
event::Record record_of(const RawRecord& raw);

/// In the order of their offsets.
std::vector<RawRecord> read_quarantined(inbox::Connection& connection, const std::vector<std::int64_t>& quarantine_ids);

/// Dead letters (as RawRecord::quarantine_id) of these topics that have no decoded value; the topics of such ones.
std::vector<RawRecord> read_undecoded(inbox::Connection& connection, const std::vector<std::int64_t>& dead_letter_ids,
                                      const std::vector<std::string>& topics);
std::vector<std::string> topics_of_undecoded(inbox::Connection& connection,
                                             const std::vector<std::int64_t>& dead_letter_ids);

struct KnownId {
  base::Uuid event_id;
  std::int64_t digest = 0;
};
std::vector<KnownId> find_known(inbox::Connection& connection, const std::vector<base::Uuid>& event_ids);

struct StillQuarantined {
  std::int64_t quarantine_id = 0;
  std::string reason;
  std::string detail;
};

/// A batch of decoded records. Views into memory that must outlive the call.
struct RereadRecords {
  std::vector<std::int64_t> quarantine_ids;  ///< all; ids in neither of the next two are dropped
  std::vector<event::Event> events;
  std::vector<StillQuarantined> still;
};

struct Retried {
  std::int64_t events = 0;
  std::int64_t duplicates = 0;
  std::int64_t conflicts = 0;  ///< stay in quarantine
};

/// Stores the events of a batch, pending for all handlers that subscribe to them, and deletes their records from
/// quarantine, in a single transaction. nullopt: a record has left quarantine meanwhile, nothing was written. May be
/// repeated after any error.
std::optional<Retried> retry_quarantined(inbox::Connection& connection, const RereadRecords& records, const Deed& deed);

/// Returns how many existed.
std::int64_t discard_quarantined(inbox::Connection& connection, const std::vector<std::int64_t>& quarantine_ids,
                                 const Deed& deed);

/// Tells the instances that deliveries were added to sequences: they find these at once, not at their next sweep.
void note_fed(inbox::Connection& connection);

}  // namespace inboxd::operations
