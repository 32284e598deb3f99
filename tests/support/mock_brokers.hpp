#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace inboxd::support {

struct ConfigText;

/// librdkafka's mock brokers, in the test's process, for events that real brokers do not produce on command. They
/// answer over TCP, support no transactions and check no records.
class MockBrokers final {
 public:
  MockBrokers();
  ~MockBrokers();
  MockBrokers(const MockBrokers&) = delete;
  MockBrokers& operator=(const MockBrokers&) = delete;

  std::string addresses() const;

  void create_topic(const std::string& topic, int partitions);
  /// Starts a new leader epoch.
  void elect_leader(const std::string& topic, int partition);
  void remove_leader(const std::string& topic, int partition);
  /// Makes a configuration use these brokers. A member that rejoins waits a second less than its session; with a
  /// session of a second it would be dropped at that moment. So the session is three seconds.
  void serve(ConfigText& config);
  /// -1: none.
  std::int64_t committed(const std::string& group, const std::string& topic, int partition) const;
  /// Refuses the next offset commits: of an illegal generation, during a rebalance, and by a timeout.
  void refuse_commits();
  /// Answers the next produced batch as out of sequence, which an idempotent producer does not survive.
  void break_sequence();
  /// The coordinator of a group is away from now on, or is back.
  void lose_coordinator(const std::string& group);
  void return_coordinator();
  void delay_fetch(std::chrono::milliseconds by);

 private:
  void coordinate(const std::string& group);

  struct Cluster;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace inboxd::support
