#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// What the brokers said about a topic, and whether its partitions may get another message.
enum class Readiness {
  ready,
  busy,        ///< the partition has not acknowledged its first message yet
  unanswered,  ///< the brokers have not answered yet
  missing,     ///< there is no such topic, or it may not be seen
};

/// The topics of a producer: their partitions, and which of them have acknowledged a message. Brokers accept the first
/// batch that a partition gets from a producer, even if it follows a refused batch. So until a partition has
/// acknowledged its first message, no second message with a key may be sent to it. Not thread-safe.
class Contacts final {
 public:
  using Clock = std::chrono::steady_clock;

  /// `partitioner`: the property's value.
  Contacts(rd_kafka_t* client, const std::string& partitioner);
  ~Contacts();

  /// Asks the brokers about topics that are new, or were asked about long ago: all with a single question, for which it
  /// waits at most `longest`.
  void learn(const std::set<std::string_view>& topics, std::chrono::milliseconds longest);
  /// Of a topic that was learned, for a message with this key.
  Readiness readiness(std::string_view topic, std::string_view key);
  /// The brokers' error for a topic that is missing.
  std::string error_of(std::string_view topic);
  /// Since when it has been missing.
  Clock::time_point missing_since(std::string_view topic) { return topic_of(topic).missing_since; }
  /// Of the key; RD_KAFKA_PARTITION_UA: not known.
  std::int32_t partition_of(std::string_view topic, std::string_view key);
  void note_sent(std::int64_t id, std::string_view topic, std::string_view key);
  void note_end(std::int64_t id, bool is_acknowledged);

 private:
  /// unknown --first message--> open --> acknowledged, or unknown again; brokers forget: acknowledged --> unknown
  enum class State : unsigned char { unknown, open, acknowledged };
  static void change(State& state, State to);
  struct Topic {
    rd_kafka_topic_t* handle = nullptr;  ///< of a topic that exists
    std::deque<State> partitions;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    Clock::time_point next_question{};
    Clock::time_point forgets_at{};  ///< brokers forget a producer that sends nothing for long
    Clock::time_point missing_since{};
    bool is_known = false;           ///< the brokers have answered
  };
  using Partitioner = int32_t(const rd_kafka_topic_t*, const void*, size_t, int32_t, void*, void*);

  Topic& topic_of(std::string_view name);
  void forget_missing();
  void note_answer(const rd_kafka_event_t* answer, Clock::time_point now);
  void note_description(Topic& topic, const std::string& name, const rd_kafka_TopicDescription_t* about,
                        Clock::time_point now);
  State* state_of(std::string_view topic, std::string_view key);

  rd_kafka_t* client_;
  Partitioner* partitioner_;
  Queue answers_;
  std::unordered_map<std::string, Topic> topics_;
  std::string last_name_;
  Topic* last_ = nullptr;                          ///< of that name: messages of a topic often follow each other
  std::unordered_map<std::int64_t, State*> open_;  ///< by the first message's id
};

}  // namespace inboxd::kafka
