#include "kafka/partitioner.hpp"

#include <librdkafka/rdkafka.h>

namespace inboxd::kafka {

std::int32_t murmur2_remainder(const std::string& key, std::int32_t divisor) {
  return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(), divisor, nullptr, nullptr);
}

std::int32_t crc32_remainder(const std::string& key, std::int32_t divisor) {
  return rd_kafka_msg_partitioner_consistent(nullptr, key.data(), key.size(), divisor, nullptr, nullptr);
}

}  // namespace inboxd::kafka
