#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "consumer/partition_life.hpp"
#include "event/record.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// The state of each assigned partition, and the problems with the brokers. Written by the poll thread and the
/// ingesters once a batch or a second; any thread reads.
class PartitionStatus final {
 public:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    kafka::TopicPartition partition;
    PartitionLife::State state = PartitionLife::State::looking_up;
    std::int64_t position = -1;        ///< the next offset; -1: not known
    std::int64_t high_watermark = -1;  ///< as last reported by the brokers; -1: not yet
    std::uint64_t received = 0;        ///< records since the start of this process
    std::uint64_t quarantined = 0;     ///< of these
    Clock::time_point observed_at{};   ///< when the brokers reported high_watermark
    std::string reason = {};           ///< why the position is not known; empty: it was not looked up yet

    /// Nothing if the position is unknown, or the high watermark is unknown or too old.
    std::optional<std::int64_t> lag(Clock::time_point now) const;
  };
  /// A high watermark of a greater age may have moved.
  static constexpr std::chrono::seconds fresh{10};
  /// Errors that mean that brokers are not reached. They are counted from 0, so that a rate over the counter sees the
  /// first error.
  static constexpr std::array<const char*, 6> unreachable_errors{
      "unanswered", "_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE", "_SSL", "_AUTHENTICATION"};

  PartitionStatus();

  /// From the poll thread.
  void assigned(const kafka::TopicPartition& partition);
  void revoked(const kafka::TopicPartition& partition);
  /// Whether it differs from the last state.
  bool set_state(const kafka::TopicPartition& partition, PartitionLife::State state);
  void set_high_watermark(const kafka::TopicPartition& partition, std::int64_t high, Clock::time_point observed_at);
  /// Whether the partition's position is known and before that offset.
  bool is_behind(const kafka::TopicPartition& partition, std::int64_t end) const;
  /// The client or a broker reports an error, by the library's own name (`_ALL_BROKERS_DOWN`); the library has a
  /// limited number of names.
  void count_error(const std::string& error);
  /// For the problem's text: the addresses to which the client connects.
  void name_brokers(std::string brokers);
  /// The library's sentence about a connection, for the problem's text.
  void connection_failed(std::string reason);
  /// A query for topics or offsets got no answer in time. The library itself reports little while it cannot connect.
  void unanswered(Clock::time_point now = Clock::now());
  /// The brokers refuse the connection: credentials, certificates or the protocol; a sentence of the library.
  void connection_refused(std::string reason);
  /// A query for all configured topics got an answer. `unknown_topics`: topics that the brokers do not know, and the
  /// remedies.
  void answered(std::map<std::string, std::string> unknown_topics);

  /// The brokers refuse this process as a member of its group until an operator changes something; a sentence.
  void group_refused(std::string reason);
  /// The group gave this process its share of the partitions, which may be none, or took its offsets.
  void group_joined();

  /// The partitions of the topics cannot be shared as configured, in a sentence with its remedy; empty: they can.
  void share_doubted(std::string reason);

  /// From an ingester: the position of the partition was not found.
  void not_found(const kafka::TopicPartition& partition, const std::string& reason);
  /// From an ingester, after COMMIT.
  void advanced(const kafka::TopicPartition& partition, std::int64_t position, std::uint64_t received,
                std::uint64_t quarantined = 0);

  /// The partitions that are assigned now.
  std::vector<Entry> entries() const;
  /// By topic, since the start of this process, also of partitions that were revoked.
  struct Received {
    std::uint64_t records = 0;
    std::uint64_t quarantined = 0;
  };
  std::map<std::string, Received> received() const;
  std::map<std::string, std::uint64_t> errors() const;
  /// Whether the brokers refuse this process as a member of its group.
  bool is_group_refused() const;
  /// The number of topics that the brokers did not know when they last answered.
  std::int64_t unknown_topics() const;
  /// The problem that keeps records from arriving, as a sentence for `status`.
  std::optional<std::string> problem(Clock::time_point now) const;

 private:
  struct Known {
    Entry entry;
    bool is_assigned = false;
  };
  mutable base::Mutex mutex_;
  /// Kept after a revoke, so that counts never fall; as many as the group has partitions.
  std::map<kafka::TopicPartition, Known> known_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> errors_ GUARDED_BY(mutex_);
  std::optional<Clock::time_point> unanswered_since_ GUARDED_BY(mutex_);
  event::Microseconds unanswered_at_ GUARDED_BY(mutex_) = 0;  ///< by this machine's clock
  std::string brokers_ GUARDED_BY(mutex_);
  std::string last_failure_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> unknown_topics_ GUARDED_BY(mutex_);
  std::optional<std::string> group_refused_ GUARDED_BY(mutex_);
  std::string share_doubted_ GUARDED_BY(mutex_);
  std::string connection_refused_ GUARDED_BY(mutex_);  ///< the last reason since the last answer; empty: none
};

}  // namespace inboxd::consumer
