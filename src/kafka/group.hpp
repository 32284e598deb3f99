#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"
#include "kafka/lookup.hpp"
#include "kafka/properties.hpp"

namespace inboxd::kafka {

/// A member of a consumer group, as the coordinator knows it.
struct GroupMember {
  std::string id;
  std::string client_id;
  std::string host;
  std::vector<TopicPartition> partitions;
};

/// A client for a few questions: without a log, and knowing nothing of the past.
base::Result<Client> make_asking_client(ClientSettings settings);

/// The group's members; none if there is no such group. Blocks for at most `timeout`. Any thread. A client of its own
/// asks and is gone afterwards: in one that lives on, the library writes to freed memory once it reaches a coordinator
/// that was away for longer than the question (confluentinc/librdkafka#4605, open with 2.15).
base::Result<std::vector<GroupMember>> describe_group(ClientSettings settings, const std::string& group,
                                                      Timeout timeout);

}  // namespace inboxd::kafka
