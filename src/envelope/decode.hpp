#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/arena.hpp"
#include "config/settings.hpp"
#include "event/event.hpp"
#include "event/record.hpp"

namespace inboxd::formats {
class TopicDecoder;
}

namespace inboxd::envelope {

/// Why a record could not become an event; its name goes into quarantine's column `reason`.
enum class Rejection { no_id, bad_id, too_large, undecodable };
std::string_view name_of(Rejection rejection);

/// The record goes to quarantine, raw.
struct Rejected {
  Rejection reason = Rejection::no_id;
  std::string detail;                          ///< a sentence, for people
};

/// A tombstone on a topic that skips tombstones.
struct Skipped {};

/// The schema registry does not answer: the record is decoded later.
struct Waiting {
  std::string detail;                          ///< a sentence that names the registry
};

using Decoded = std::variant<event::Event, Rejected, Skipped, Waiting>;

/// The rules of a topic. `incarnation` is the topic's id in Kafka (empty if the brokers have no topic ids), with a mark
/// if its offsets have restarted under that id (ShardPosition::log_id).
struct TopicRules {
  config::Topic topic;
  std::string name_space;                      ///< kafka.namespace, for position ids
  std::string incarnation;
  std::shared_ptr<const formats::TopicDecoder> decoder = nullptr;  ///< null: the topic has no format
};

/// Rules have lower numbers; this number means: no rule.
inline constexpr std::size_t max_rules = 16;
/// The name of a rule by its number, for metrics: `cloudevents_binary`; empty if there is no such rule.
std::string rule_name(std::size_t rule);

/// The result for a record as a number: 0 event, 1 skipped, then the rejections.
inline constexpr std::size_t decode_results = 6;
inline std::size_t result_of(const Decoded& decoded) {
  if (const auto* rejected = std::get_if<Rejected>(&decoded)) return 2 + static_cast<std::size_t>(rejected->reason);
  return decoded.index() == 0 ? 0 : 1;
}
/// `event`, `skipped`, `no_id` …
std::string_view result_name(std::size_t result);

/// Decodes a record: finds its identity and attributes. Any thread; never throws for bad input. Pure, unless the topic
/// has a format, whose schema may have to be fetched. Views in the event point into the record's memory or into
/// `arena`. The caller sets `shard_id` and `received_at`. `rule` becomes the number of the rule that matched, if any.
Decoded decode(const event::Record& record, const TopicRules& rules, base::Arena& arena, std::size_t* rule = nullptr);

/// A step of decoding, for `explain`: the rule that was tried, whether it matched, and why.
struct Step {
  std::string rule;
  bool matched = false;
  std::string why;
};
std::vector<Step> explain(const event::Record& record, const TopicRules& rules);
/// Likewise, with the result that `decode` returns.
Decoded explain(const event::Record& record, const TopicRules& rules, base::Arena& arena, std::vector<Step>& steps);

}  // namespace inboxd::envelope
