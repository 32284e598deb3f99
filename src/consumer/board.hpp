#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// How each assigned partition fares, written by poll thread and ingesters (once a batch, or a second) and read by
/// whoever asks. Any thread.
class Board final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { looking_up, reading, halted };
  struct Entry {
    kafka::TopicPartition partition;
    State state = State::looking_up;
    std::int64_t position = -1;        ///< the next offset; -1: not known
    std::int64_t high_watermark = -1;  ///< what the brokers last said; -1: nothing yet
    std::uint64_t received = 0;        ///< records since the start of this process
  };
  /// The complaints that say of brokers that they are away. They are counted from 0, not from the first one: who
  /// watches a counter cannot see it rise to where it begins.
  static constexpr std::array<const char*, 6> away{"unanswered", "_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE",
                                                   "_SSL",       "_AUTHENTICATION"};

  Board();

  /// From the poll thread.
  void assigned(const kafka::TopicPartition& partition);
  void revoked(const kafka::TopicPartition& partition);
  void set_state(const kafka::TopicPartition& partition, State state);
  void set_high_watermark(const kafka::TopicPartition& partition, std::int64_t high);
  /// The client or a broker complains: `_ALL_BROKERS_DOWN`. The library's own names, so there are only so many.
  void complained(const std::string& error);
  /// A question about topics or offsets got no answer in time. The library itself says little while it cannot connect.
  void unanswered(Clock::time_point now = Clock::now());
  /// One about all configured topics got one: they know no topics of these names.
  void answered(std::vector<std::string> unknown_topics);

  /// The brokers keep this process out of its group until somebody changes something; in a sentence.
  void refused(std::string by_the_brokers);
  /// It was given its share of the partitions, which may be none, or the group took its offsets.
  void admitted();

  /// From an ingester, after COMMIT.
  void advanced(const kafka::TopicPartition& partition, std::int64_t position, std::uint64_t received);

  /// Those that are assigned now.
  std::vector<Entry> entries() const;
  std::map<std::string, std::uint64_t> complaints() const;
  /// Topics that the brokers did not know when they last answered.
  std::int64_t unknown_topics() const;
  /// What keeps records from coming, in a sentence for `status`.
  std::optional<std::string> trouble(Clock::time_point now) const;

 private:
  struct Known {
    Entry entry;
    bool is_assigned = false;
  };
  mutable std::mutex mutex_;  // guards the following
  /// Counts outlive an assignment, so that they never fall; as many as the group has partitions.
  std::map<kafka::TopicPartition, Known> known_;
  std::map<std::string, std::uint64_t> complaints_;
  std::optional<Clock::time_point> unanswered_since_;
  std::vector<std::string> unknown_topics_;
  std::optional<std::string> refused_;
};

/// `reading`.
const char* name_of(Board::State state);

}  // namespace inboxd::consumer
