#pragma once
#include <librdkafka/rdkafka.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace inboxd::bench {

using KafkaHandle = std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)>;

/// A producer or consumer with these properties; throws std::runtime_error.
KafkaHandle make_kafka_handle(rd_kafka_type_t type, const std::string& brokers,
                              std::initializer_list<std::pair<const char*, const char*>> properties);

void check_kafka(rd_kafka_resp_err_t code, const std::string& what);

/// A consumer of all partitions from offset 0, without a group.
KafkaHandle consume_from_beginning(const std::string& brokers, const std::string& topic, int partitions);

}  // namespace inboxd::bench
