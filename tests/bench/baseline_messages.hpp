#pragma once
#include <librdkafka/rdkafka.h>

#include <memory>
#include <vector>

#include "event_source.hpp"

namespace inboxd::bench {

/// A polled record. Its consumer owns it and outlives it.
using Message = std::shared_ptr<rd_kafka_message_t>;

/// Records of an ingest thread, in the order of polling.
using Messages = std::vector<Message>;

/// The events of these records, by partition, then offset. They point to the messages' bytes.
SourceBatch batch_of(const Messages& messages, int partitions);

}  // namespace inboxd::bench
