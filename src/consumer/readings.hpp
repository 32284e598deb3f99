#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "config/topics.hpp"
#include "consumer/partition_status.hpp"
#include "inbox/reading.hpp"
#include "kafka/end_offsets.hpp"
#include "kafka/group.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// Records in table reading who reads each partition of the configured topics: this instance's own partitions, and
/// partitions that no instance reads, with the member of the group that has them. Used by a single ingester, on its
/// thread. Blocks for about a second a question if the brokers do not answer.
class Readings final {
 public:
  using Clock = std::chrono::steady_clock;

  Readings(inbox::Connection& connection, const base::Uuid& owner, rd_kafka_t* query_client, const config::Kafka& kafka,
           const config::Topics& topics, const PartitionStatus& status)
      : connection_{connection},
        owner_{owner},
        query_client_{query_client},
        kafka_{kafka},
        topics_{topics},
        status_{status} {}

  /// At intervals. Throws database errors (inbox::describe).
  void run(Clock::time_point now);

 private:
  void record_own(Clock::time_point now);
  void list_partitions(Clock::time_point now);
  void look_for_unread(Clock::time_point now);
  void record_unread();
  void name_members(Clock::time_point now);

  inbox::Connection& connection_;
  const base::Uuid owner_;
  rd_kafka_t* query_client_;
  const config::Kafka& kafka_;
  const config::Topics& topics_;
  const PartitionStatus& status_;
  std::vector<inbox::UnreadPartition> all_;     ///< partitions of the configured topics
  std::vector<inbox::UnreadPartition> unread_;  ///< of the pending request
  kafka::EndOffsetsRequest request_;
  kafka::RecentMembers members_;
  Clock::time_point next_{}, next_list_{};
};

}  // namespace inboxd::consumer
