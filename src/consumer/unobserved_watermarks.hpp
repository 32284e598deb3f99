#pragma once
#include <chrono>
#include <cstdint>
#include <map>

#include "base/logger.hpp"
#include "config/topics.hpp"
#include "inbox/connection.hpp"
#include "kafka/end_offsets.hpp"

namespace inboxd::consumer {

/// Records the high watermarks of partitions that no instance reads, so that their lag is known: at a start until the
/// group has assigned them, which may take as long as the session of a crashed instance. Used by a single ingester, on
/// its thread. Blocks for a second at most if the brokers do not answer.
class UnobservedWatermarks final {
 public:
  using Clock = std::chrono::steady_clock;

  UnobservedWatermarks(inbox::Connection& connection, rd_kafka_t* query_client, const config::Topics& topics,
                       base::Logger& log)
      : connection_{connection}, query_client_{query_client}, topics_{topics}, log_{log} {}

  /// At intervals.
  void run(Clock::time_point now);

 private:
  void send_query(Clock::time_point now);
  void record(const kafka::EndOffsetsRequest::Offsets& offsets, Clock::time_point now);

  inbox::Connection& connection_;
  rd_kafka_t* query_client_;
  const config::Topics& topics_;
  base::Logger& log_;
  kafka::EndOffsetsRequest request_;
  std::map<kafka::TopicPartition, std::int32_t> shards_;  ///< the shards of the pending request
  Clock::time_point queried_at_{}, next_{}, began_{};
  bool has_recorded_ = false;
};

}  // namespace inboxd::consumer
