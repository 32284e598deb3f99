#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/arena.hpp"
#include "config/topics.hpp"
#include "envelope/decode.hpp"
#include "formats/topic_decoder.hpp"
#include "inbox/handler_registration.hpp"
#include "inbox/unsubscribed.hpp"
#include "operations/operation.hpp"
#include "operations/quarantine_queries.hpp"

namespace inboxd::operations {

/// The reason for a record to stay if its topic is no longer configured. Not stored.
constexpr const char* not_configured = "not_configured";

/// The results of a retry, or the expected results of a dry run.
struct RetryCounts {
  std::int64_t events = 0;
  std::int64_t duplicates = 0;                       ///< of stored events; dropped
  std::int64_t skipped = 0;                          ///< tombstones of a topic that skips them; dropped
  std::map<std::string, std::int64_t> still;         ///< records that stay, by today's reason
  std::string why_still;                             ///< the reason of one of them, a sentence
  std::set<std::string> unknown_topics;              ///< of records that stay because their topic is not configured
  std::int64_t unsubscribed = 0;                     ///< events without a handler
  std::optional<inbox::UnsubscribedEvents> example;  ///< a topic and type of these events
};

/// Decodes quarantined records by today's rules of their topics (Context::topics) and stores the records that are
/// events now.
class Retry final {
 public:
  /// `dry_run` only counts; it does not foresee a refusal by the database.
  Retry(Context& context, Deed deed, bool dry_run)
      : context_{context}, deed_{std::move(deed)}, dry_run_{dry_run}, topics_{context.topics} {}

  /// A batch, in a single transaction if its decoded records are small enough. Throws database errors.
  void run(const std::vector<std::int64_t>& quarantine_ids);

  const RetryCounts& counts() const { return counts_; }

 private:
  using RawRecords = std::vector<RawRecord>;
  struct Reading;
  const envelope::TopicRules* rules_of(const RawRecord& record);
  /// False: decoded, they are too large for a single transaction.
  bool read(const RawRecords& records, Reading& out);
  /// False: another operator took some of the records out of quarantine meanwhile; nothing was done.
  bool store(const RawRecords& records);
  void foresee(const Reading& reading);
  void run_halves(const RawRecords& records);
  void take_out_poison(const RawRecords& records, const std::string& says);
  void count(const Reading& reading);
  void count_unsubscribed(const Reading& reading);

  Context& context_;
  const Deed deed_;
  const bool dry_run_;
  const config::Topics topics_;
  formats::Decoders decoders_{std::chrono::seconds{10}};  ///< of its own: it asks for ids that ingest found unknown
  std::map<std::int32_t, std::optional<envelope::TopicRules>> rules_;  ///< by shard
  std::map<base::Uuid, std::int64_t> foreseen_;                        ///< digests of events that a dry run has seen
  std::optional<inbox::Routing> routing_;
  RetryCounts counts_;
};

}  // namespace inboxd::operations
