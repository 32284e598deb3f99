#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::kafka {

/// A question for the ends of partitions that nobody waits for, one at a time. One thread. Let go of before its client
/// is; an answer that comes later is nobody's.
class EndsQuestion final {
 public:
  /// What the brokers told (the high watermarks); a partition that they did not tell of is left out.
  using Ends = std::map<TopicPartition, std::int64_t>;

  EndsQuestion() = default;
  EndsQuestion(const EndsQuestion&) = delete;
  EndsQuestion& operator=(const EndsQuestion&) = delete;

  bool is_under_way() const { return answers_ != nullptr; }
  /// While none is under way. There is an answer in the end: the brokers', or after `timeout` that there was none.
  void ask(rd_kafka_t* client, const std::vector<TopicPartition>& partitions, Timeout timeout);
  /// The answer, once, if it is there.
  std::optional<base::Result<Ends>> take();
  void drop() { answers_.reset(); }

 private:
  Queue answers_;
};

}  // namespace inboxd::kafka
