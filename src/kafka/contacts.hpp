#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// The partitions that have acknowledged a message of a producer. Brokers accept the first batch that a partition gets
/// from a producer, also one that follows a refused batch. So until a partition has acknowledged its first message, no
/// second one with a key may be sent to it. One thread.
class Contacts final {
 public:
  using Clock = std::chrono::steady_clock;

  /// `partitioner`: the property's value. Asks the brokers for the partitions of new topics.
  Contacts(rd_kafka_t* client, const std::string& partitioner);
  ~Contacts();

  /// Whether a message with this key may be sent now.
  bool may_send(std::string_view topic, std::string_view key);
  /// Of the key; RD_KAFKA_PARTITION_UA: not known.
  std::int32_t partition_of(std::string_view topic, std::string_view key);
  void note_sent(std::int64_t id, std::string_view topic, std::string_view key);
  void note_end(std::int64_t id, bool is_acknowledged);

 private:
  enum class State : unsigned char { unknown, open, acknowledged };
  struct Topic {
    rd_kafka_topic_t* handle = nullptr;
    std::deque<State> partitions;  ///< empty: unknown to the brokers
    Clock::time_point next_question{};
    Clock::time_point forgets_at{};  ///< brokers forget a producer that sends nothing for long
    bool is_known = false;           ///< the brokers have answered
  };
  using Partitioner = int32_t(const rd_kafka_topic_t*, const void*, size_t, int32_t, void*, void*);

  Topic& topic_of(std::string_view name);
  void forget_unknown();
  void ask(Topic& topic);
  State* state_of(std::string_view topic, std::string_view key);

  rd_kafka_t* client_;
  Partitioner* partitioner_;
  std::unordered_map<std::string, Topic> topics_;
  std::string last_name_;
  Topic* last_ = nullptr;                          ///< of that name: messages of one topic often follow each other
  std::unordered_map<std::int64_t, State*> open_;  ///< by the first message's id
};

}  // namespace inboxd::kafka
