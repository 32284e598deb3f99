#pragma once
#include <chrono>
#include <memory>
#include <optional>
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

/// The group's members; none if there is no such group. Blocks for `timeout`, and until the client has ended: for
/// seconds while name servers or token endpoints do not answer. Any thread. A client of its own asks and is gone
/// afterwards: in one that lives on, the library writes to freed memory once it reaches a coordinator that was away for
/// longer than the question (confluentinc/librdkafka#4605, open with 2.15).
base::Result<std::vector<GroupMember>> describe_group(ClientSettings settings, const std::string& group,
                                                      Timeout timeout);

/// The members of a group as of the last answer, without waiting for it: questions run on a thread of their own, one at
/// a time, and begin at most every 30 s, because each takes a client. Not thread-safe.
class RecentMembers final {
 public:
  using Clock = std::chrono::steady_clock;

  RecentMembers();
  /// Waits up to 2 s for the end of a question; then it ends with the process.
  ~RecentMembers();
  RecentMembers(const RecentMembers&) = delete;
  RecentMembers& operator=(const RecentMembers&) = delete;

  /// Begins a question if it is time to. nullopt: none was answered yet.
  std::optional<std::vector<GroupMember>> ask(const ClientSettings& settings, const std::string& group,
                                              Clock::time_point now);

 private:
  struct Question;
  std::shared_ptr<Question> question_;  // shared with its thread
  Clock::time_point next_{};
};

}  // namespace inboxd::kafka
