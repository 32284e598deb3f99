#pragma once
#include <cstdint>
#include <string>

namespace inboxd::kafka {

// The hashes by which producers place a record with a key: the remainder by the number of partitions is the partition.

/// Of Java clients, and of librdkafka with partitioner=murmur2 or murmur2_random.
std::int32_t murmur2_remainder(const std::string& key, std::int32_t divisor);
/// CRC32: of librdkafka by default.
std::int32_t crc32_remainder(const std::string& key, std::int32_t divisor);

}  // namespace inboxd::kafka
