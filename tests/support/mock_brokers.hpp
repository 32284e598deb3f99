#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace inboxd::support {

struct ConfigText;

/// The client library's own stand-in for brokers, in the test's process: for what real ones do on nobody's command. It
/// answers over TCP as they do, knows no transactions and checks no record.
class MockBrokers final {
 public:
  MockBrokers();
  ~MockBrokers();
  MockBrokers(const MockBrokers&) = delete;
  MockBrokers& operator=(const MockBrokers&) = delete;

  /// For `kafka.brokers`, and for a support::Kafka that produces.
  std::string addresses() const;

  void create_topic(const std::string& topic, int partitions);
  /// The partition has a leader, and what is written from now on belongs to another leader epoch.
  void elect(const std::string& topic, int partition);
  /// Nobody leads the partition until somebody is elected.
  void unseat(const std::string& topic, int partition);
  /// Makes a daemon's configuration read from here. A member that joins again waits for a second less than its session
  /// lasts, and with a session of a second is dropped at that very moment, unheard: so it lasts for three.
  void serve(ConfigText& config);
  /// The group's offset; -1: none.
  std::int64_t committed(const std::string& group, const std::string& topic, int partition) const;
  /// The next so many commits of offsets are refused as those of a member that the group has left behind.
  void refuse_commits(int times);
  /// The next question for records is answered so much later.
  void delay_fetch(std::chrono::milliseconds by);

 private:
  /// Who coordinates the group: the one broker that there is, else it may be one that nobody reaches.
  void coordinate(const std::string& group);

  struct Cluster;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace inboxd::support
