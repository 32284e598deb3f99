#pragma once
#include <chrono>
#include <cstdint>
#include <map>

#include "base/log.hpp"
#include "config/topics.hpp"
#include "inbox/connection.hpp"
#include "kafka/end_offsets.hpp"

namespace inboxd::consumer {

/// The high watermark of an assigned partition, from its fetches or from a query. The client library repeats the value
/// of the last fetch for ever, even if no fetch is answered: the partition is halted, its queue is full because the
/// database is away, or the brokers are. So a value that has not changed for a while is queried, and that of a newly
/// assigned partition at once, so that its lag is known soon. Used by the poll thread.
struct HighWatermark {
  using Clock = std::chrono::steady_clock;
  /// The age at which a value is queried, and the interval of queries.
  static constexpr std::chrono::seconds oldest{3};
  static constexpr std::chrono::milliseconds answer_within{5'000};

  std::int64_t offset = -1;  ///< -1: not known yet
  /// When `offset` was certainly right; before that, when the partition was assigned.
  Clock::time_point observed_at{};
  Clock::time_point queried_at = Clock::time_point::min();
  std::int64_t fetched = -1;  ///< the value of the last fetch, repeated by the client library

  bool is_known() const { return offset >= 0; }
  /// At intervals.
  void note_fetch(std::int64_t high, Clock::time_point now);
  /// The answer to the last query. Dropped if a fetch has brought news since, or the partition was assigned again.
  void note_answer(std::int64_t high);
  bool is_query_due(Clock::time_point now) const;
};

/// Records the high watermarks of partitions that no instance reads, so that their lag is known: at a start until the
/// group has assigned them, which may take as long as the session of a crashed instance. Used by one ingester, on its
/// thread. Blocks for a second at most if the brokers do not answer.
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
