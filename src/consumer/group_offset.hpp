#pragma once
#include <librdkafka/rdkafka.h>

#include <chrono>

#include "base/log.hpp"
#include "inbox/shards.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// Whether the database is behind what the group has committed. The group's offset only ever follows the database, so
/// the database has lost then what it once had: an error in the log. One thread.
class GroupOffset final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds answer_within{1'000};
  /// Who did not answer is left alone for so long: partitions whose leaders are well must not wait for a coordinator
  /// that is not.
  static constexpr std::chrono::seconds ask_again_after{60};

  /// False also where nobody answers. Blocks for an answer.
  bool is_ahead(rd_kafka_t* member, const kafka::TopicPartition& partition, const inbox::ShardPosition& position,
                base::Logger& log);

 private:
  Clock::time_point ask_at_{};
};

}  // namespace inboxd::consumer
