#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "support/daemon.hpp"
#include "support/database.hpp"
#include "support/kafka.hpp"
#include "support/recording.hpp"

namespace inboxd::support {

/// A schema, a topic, a recording and a configuration with one recorder on that topic: what a test begins with.
struct Scene {
  explicit Scene(int partitions = 4);
  /// The daemon connects to `url`, the test to `direct`.
  Scene(int partitions, const std::string& url, const std::string& direct);

  Kafka kafka;
  Database database;
  Recording recording;
  std::string topic;
  ConfigText config;
};

/// What the inbox says of one handler's events, by counting rows and offsets.
struct Counts {
  std::int64_t events = 0;
  std::int64_t ledger = 0;
  std::int64_t quarantined = 0;
  std::int64_t owed = 0;                 ///< events in deliveries
  std::int64_t settled = 0;              ///< offsets in outcomes
  std::int64_t settled_once = 0;         ///< different ones of these
  bool operator==(const Counts&) const = default;
};
std::string text_of(const Counts& counts);

Counts count(Session& session, const std::string& handler = "recorder");
/// Waits until the handler has settled that many events, then compares everything: nothing lost, nothing doubled.
/// Throws with the counts where they are wrong.
void expect_settled(Session& session, std::int64_t events, const std::string& handler = "recorder",
                    milliseconds within = patience);

/// The next offset of each partition that is not in the inbox yet, of the topic's newest incarnation.
std::map<int, std::int64_t> positions(Session& session, const std::string& topic);
std::int64_t sum(const std::map<int, std::int64_t>& offsets);
/// Throws where the group has committed an offset that the database does not have.
void expect_group_behind(Kafka& kafka, Session& session, const std::string& group, const std::string& topic);
/// Waits until the inbox, and with it the group, has come to the end of the topic.
void wait_for_end(Scene& scene, milliseconds within = patience);

}  // namespace inboxd::support
