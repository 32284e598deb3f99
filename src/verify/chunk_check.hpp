#pragma once
#include <cstdint>
#include <optional>
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

/// Times up to which rows may have been deleted, by retention. Rows received since are still stored.
struct KeptSince {
  event::Microseconds events = 0;
  event::Microseconds ids = 0;  ///< the ledger
  event::Microseconds quarantine = 0;
  event::Microseconds start = 0;  ///< of the inbox: nothing was received before
  event::Microseconds now = 0;

  /// Whether a record with this timestamp was certainly received at `since` or later. Producers write timestamps by
  /// their own clocks.
  bool is_since(std::optional<event::Microseconds> timestamp, event::Microseconds since) const {
    if (since <= start) return true;
    return timestamp && *timestamp >= since + clock_tolerance && *timestamp <= now + clock_tolerance;
  }
  static constexpr event::Microseconds clock_tolerance = 5LL * 60 * 1'000'000;
};

/// A partition as its records are accounted for.
struct VerifiedPartition {
  operations::PartitionState state;
  envelope::TopicRules rules;
  event::OffsetSet gaps;          ///< accepted, and the gap that halts it
  event::OffsetSet discarded;     ///< from quarantine, by operators
  KeptSince kept;
  bool reads_content = true;      ///< the role may read payloads
};

/// Accounts for the records of a chunk, which begins at offset `from`: adds to the counts of `result`, and returns the
/// contradictions. Never reads a record's content into a text. Throws database errors.
std::vector<Contradiction> check_chunk(inbox::Connection& connection, const VerifiedPartition& partition,
                                       const kafka::LogReader::Chunk& chunk, std::int64_t from,
                                       PartitionResult& result);

}  // namespace inboxd::verify
