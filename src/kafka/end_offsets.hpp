#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::kafka {

/// The end of a partition: of all records, or of the records before the first open transaction.
enum class End { high_watermark, last_stable_offset };

/// A ListOffsets request that no thread waits for; at most one is open. Not thread-safe. Destroyed before its client; a
/// later answer is dropped.
class EndOffsetsRequest final {
 public:
  /// Partitions that the brokers did not answer for are left out.
  using Offsets = std::map<TopicPartition, std::int64_t>;

  EndOffsetsRequest() = default;
  EndOffsetsRequest(const EndOffsetsRequest&) = delete;
  EndOffsetsRequest& operator=(const EndOffsetsRequest&) = delete;

  bool is_pending() const { return answers_ != nullptr; }
  /// While none is pending. An answer always comes: the brokers', or a problem after `timeout`.
  void send(rd_kafka_t* client, const std::vector<TopicPartition>& partitions, Timeout timeout,
            End which = End::high_watermark);
  /// The answer, once, if it has come.
  std::optional<base::Result<Offsets>> take(Timeout longest = Timeout{0});
  void drop() { answers_.reset(); }

 private:
  Queue answers_;
};

/// The high watermarks, open transactions included. Blocks for at most `timeout`; a problem if an offset is missing.
base::Result<EndOffsetsRequest::Offsets> high_watermarks(rd_kafka_t* client,
                                                         const std::vector<TopicPartition>& partitions,
                                                         Timeout timeout);

}  // namespace inboxd::kafka
