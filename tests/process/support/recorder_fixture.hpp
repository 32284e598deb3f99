#pragma once
#include <string>

#include "process/support/final_verify.hpp"
#include "support/daemon_process.hpp"
#include "support/database.hpp"
#include "support/kafka.hpp"
#include "support/recording.hpp"

namespace inboxd::support {

/// A schema, a topic, a recording, and a configuration with a single recorder on that topic. A test ends with
/// `inboxd verify`.
struct RecorderFixture {
  explicit RecorderFixture(int partitions = 4);
  /// The daemon connects to `url`, the test to `direct`.
  RecorderFixture(int partitions, const std::string& url, const std::string& direct);

  Kafka kafka;
  Database database;
  Recording recording;
  std::string topic;
  ConfigText config;
  FinalVerify final_verify{database, config};
};

/// Waits until positions and committed offsets reach the end of the topic.
void wait_for_end(RecorderFixture& fixture, milliseconds within = patience);

}  // namespace inboxd::support
