#pragma once
#include <string>
#include <variant>
#include <vector>

#include "base/arena.hpp"
#include "config/settings.hpp"
#include "event/event.hpp"
#include "event/record.hpp"

namespace inboxd::envelope {

/// Why a record could not become an event; the text stands in quarantine's column `reason`.
enum class Rejection { no_id, bad_id, too_large, undecodable };
std::string_view name_of(Rejection rejection);

/// Keeps its record out of the inbox and in quarantine, raw.
struct Rejected {
  Rejection reason = Rejection::no_id;
  std::string detail;                          ///< a sentence: what was looked for, what was found
};

/// A tombstone on a topic that says `tombstones: skip`.
struct Skipped {};

using Decoded = std::variant<event::Event, Rejected, Skipped>;

/// What a topic's records are read by. `incarnation` is the topic's id in Kafka (empty where the broker tells none).
struct TopicRules {
  config::Topic topic;
  std::string name_space;                      ///< kafka.namespace, for position ids
  std::string incarnation;
};

/// Reads one record: finds its identity and attributes. Pure, any thread; never throws for bad input. Views in the
/// event point into the record's memory or into `arena`. `shard_id` and `received_at` are left for the caller.
Decoded decode(const event::Record& record, const TopicRules& rules, base::Arena& arena);

/// One step of how a record was read, for `explain`: which rule was tried, whether it matched and why.
struct Step {
  std::string rule;
  bool matched = false;
  std::string why;
};
std::vector<Step> explain(const event::Record& record, const TopicRules& rules);

}  // namespace inboxd::envelope
