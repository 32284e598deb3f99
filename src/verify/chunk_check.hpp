#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/arena.hpp"
#include "envelope/decode.hpp"
#include "event/offset_set.hpp"
#include "inbox/connection.hpp"
#include "kafka/log_reader.hpp"
#include "operations/partition_queries.hpp"
#include "verify/report.hpp"

namespace inboxd::verify {

/// A partition as its records are accounted for.
struct VerifiedPartition {
  operations::PartitionState state;
  envelope::TopicRules rules;
  event::OffsetSet gaps;               ///< accepted, and the gap that halts it
  event::OffsetSet discarded;          ///< from quarantine, by operators
  event::Microseconds kept_since = 0;  ///< events received since then are still stored
  std::int64_t kept_from = 0;          ///< earlier records may be older than retention
  bool keeps_quarantine = true;        ///< no retention deletes quarantined records
  bool reads_content = true;           ///< the role may read payloads
};

/// Accounts for the records of a chunk, which begins at offset `from`: adds to the counts of `result`, and returns the
/// contradictions. Never reads a record's content into a text. Throws database errors.
std::vector<Contradiction> check_chunk(inbox::Connection& connection, const VerifiedPartition& partition,
                                       const kafka::LogReader::Chunk& chunk, std::int64_t from,
                                       PartitionResult& result);

}  // namespace inboxd::verify
