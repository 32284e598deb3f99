#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::kafka {

/// Reads a partition's log back, outside any group: committed records in their order, without commits. For a single
/// thread; destroyed before its client, which should be used by no other reader meanwhile.
class LogReader final {
 public:
  /// Starts to fetch at `from`.
  LogReader(rd_kafka_t* client, const TopicPartition& partition, std::int64_t from);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// Records of the offsets before `next`, the first of which is where the last chunk ended. Offsets without a record
  /// hold a control record, or an aborted or compacted one.
  struct Chunk {
    std::vector<Message> messages;
    std::int64_t next = 0;
  };
  /// Reads up to `end` (exclusive), which has to be at or before the end of the log, or until the records have
  /// `max_bytes`; then the chunk ends after its last record. A problem if nothing comes within `timeout`, or Kafka has
  /// deleted the offsets meanwhile.
  base::Result<Chunk> read(std::int64_t end, std::size_t max_bytes, Timeout timeout);

  std::int64_t next() const { return next_; }

 private:
  /// Takes the messages of a portion into ahead_; true: `end` is reached.
  bool take(std::vector<rd_kafka_message_t*>& portion, std::size_t count, std::int64_t end);
  /// Moves messages before `end` from ahead_ to the chunk, up to `bytes`; true: the bytes are used up.
  bool give(std::int64_t end, std::size_t& bytes, Chunk& out);

  struct DestroyTopic {
    void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  };

  const TopicPartition partition_;
  Queue queue_;
  std::unique_ptr<rd_kafka_topic_t, DestroyTopic> topic_;
  std::int64_t next_;
  std::deque<Message> ahead_;  ///< read, but not given yet
  base::Problem problem_;
};

}  // namespace inboxd::kafka
