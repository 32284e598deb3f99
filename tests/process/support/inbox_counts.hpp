#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "support/database.hpp"
#include "support/kafka.hpp"

namespace inboxd::support {

/// Rows and offsets of a handler, counted in the inbox.
struct InboxCounts {
  std::int64_t events = 0;
  std::int64_t ledger = 0;
  std::int64_t quarantined = 0;
  std::int64_t pending = 0;           ///< events in deliveries
  std::int64_t settled = 0;           ///< offsets in outcomes
  std::int64_t settled_distinct = 0;  ///< without repetitions
  bool operator==(const InboxCounts&) const = default;
};
std::string text_of(const InboxCounts& counts);
std::string text_of(const std::map<int, std::int64_t>& offsets);

InboxCounts count(Session& session, const std::string& handler = "recorder");
/// Waits until the handler has settled `events` events, then throws unless all counts are right.
void expect_settled(Session& session, std::int64_t events, const std::string& handler = "recorder",
                    milliseconds within = patience);

/// The position of each partition, in the topic's newest incarnation.
std::map<int, std::int64_t> positions(Session& session, const std::string& topic);
std::int64_t sum(const std::map<int, std::int64_t>& offsets);
/// Throws if the group has committed an offset that the database does not have.
void expect_group_behind(Kafka& kafka, Session& session, const std::string& group, const std::string& topic);

}  // namespace inboxd::support
