#pragma once
#include <librdkafka/rdkafka.h>

#include <memory>
#include <vector>

#include "feed.hpp"

namespace inboxd::bench {

/// A record as it was polled. It belongs to its consumer, which outlives it.
using Message = std::shared_ptr<rd_kafka_message_t>;

/// Records of the partitions of one ingest thread, in the order in which they were polled.
using Messages = std::vector<Message>;

/// What the path stores of them, by partition, then offset. It points to the messages' bytes.
FeedBatch batch_of(const Messages& messages, int partitions);

}  // namespace inboxd::bench
