#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::kafka {

/// A member of a consumer group, as the coordinator knows it.
struct GroupMember {
  std::string id;
  std::string client_id;
  std::string host;
  std::vector<TopicPartition> partitions;
};
/// The group's members; none if there is no such group. Blocks for at most `timeout`. Any thread.
base::Result<std::vector<GroupMember>> describe_group(rd_kafka_t* client, const std::string& group, Timeout timeout);

}  // namespace inboxd::kafka
