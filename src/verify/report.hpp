#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "event/record.hpp"
#include "operations/operation.hpp"

namespace inboxd::verify {

/// A fact that contradicts the promise: its place, and the command that mends it. It never has content of an event.
struct Contradiction {
  std::string rule;  ///< `missing_state`
  std::string handler;
  std::string topic;
  std::optional<std::int32_t> partition;
  std::optional<std::int64_t> offset;
  std::string event_id;
  std::optional<event::Microseconds> received_at;
  std::string detail;
  std::string remedy;
};

/// A rule's result.
struct RuleResult {
  std::string rule;
  std::string about;
  std::int64_t contradictions = 0;
  bool is_checked = false;  ///< false: not in the sample, or this role may not read what it needs
};

/// A partition compared with its log.
struct PartitionResult {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t from = 0;         ///< the first offset to verify
  std::int64_t position = 0;     ///< where it ends: later records are not stored yet
  std::int64_t verified_to = 0;  ///< offsets before it are verified, as far as the sample goes
  std::int64_t lag = 0;          ///< offsets after the position
  std::int64_t records = 0;      ///< read back from Kafka

  // The records by their account:
  std::int64_t events = 0;
  std::int64_t duplicates = 0;  ///< the ledger has their id
  std::int64_t quarantined = 0;
  std::int64_t skipped = 0;        ///< by the topic's rules
  std::int64_t in_gaps = 0;        ///< in an accepted gap, offsets without a record included
  std::int64_t not_checkable = 0;  ///< older than retention, or discarded from quarantine
  std::int64_t forgotten = 0;      ///< events with erased content; part of `events`
  std::int64_t other_id = 0;       ///< events to which today's rules give another id; part of `events`
  std::int64_t contradictions = 0;

  // Offsets without a record:
  std::int64_t absent = 0;                         ///< markers of transactions, aborted and compacted records
  std::int64_t not_in_kafka = 0;                   ///< before the log's start
  std::optional<std::int64_t> first_missing = {};  ///< the first record that is nowhere
  /// The last record that would be stored as new if it were read again, though it may have been stored: the ledger does
  /// not have its id.
  std::optional<std::int64_t> last_forgotten = {};
  std::optional<std::int64_t> last_other_id = {};  ///< the last of `other_id`
  std::string other_id_rule = {};                  ///< the rule that gives it another id
  bool ends_with_other_id = false;                 ///< the last event so far is one of `other_id`
  std::string problem = {};    ///< why it was not verified, or records are lost or not read; else empty
  std::int32_t shard_id = 0;   ///< the partition's as it was verified
  std::int32_t epoch = 0;      ///< likewise
};

struct Report {
  std::vector<RuleResult> rules;
  std::vector<PartitionResult> partitions;
  std::vector<Contradiction> contradictions;  ///< the first of each rule, up to the limit
  std::int64_t found = 0;                     ///< all contradictions
  std::vector<std::string> problems;  ///< topics with an unread log
  std::vector<std::string> remarks;
  double sample = 1.0;                   ///< the share of the offsets that was verified
  std::optional<base::Problem> failure;  ///< database or brokers were not reached; the rest is incomplete
  bool interrupted = false;

  /// A partition or a topic could not be verified.
  bool has_problem() const {
    return !problems.empty() ||
           std::any_of(partitions.begin(), partitions.end(), [](const auto& one) { return !one.problem.empty(); });
  }
  /// Records of all partitions that could not be checked.
  std::int64_t not_checkable() const {
    std::int64_t out = 0;
    for (const auto& one : partitions) out += one.not_checkable;
    return out;
  }
  bool is_good() const { return found == 0 && !has_problem() && !failure && !interrupted; }
};

operations::Document document_of(const Report& report);

/// The command that mends a contradiction, or the next step where no command does.
std::string remedy_for(const Contradiction& contradiction);

}  // namespace inboxd::verify
