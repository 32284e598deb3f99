#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/wait.hpp"

struct rd_kafka_s;

namespace inboxd::support {

/// A record to produce. No payload is a tombstone, which is not an empty one.
struct Message {
  std::string topic;
  std::optional<std::string> key = {};
  std::optional<std::string> payload = "";
  std::vector<std::pair<std::string, std::optional<std::string>>> headers = {};
  int partition = -1;  ///< -1: by key
  std::int64_t timestamp_ms = 0;  ///< 0: now
};

/// What an outbox router writes: header `id` (a UUID is kept as the event's id), header `eventType`.
Message event_message(const std::string& topic, const std::string& id, const std::string& payload = "{}",
                      const std::string& type = "Happened");

/// Records in a transaction that is open until it is told how it ends.
class Transaction final {
 public:
  /// Returns when the broker has them all.
  Transaction(const std::string& brokers, const std::vector<Message>& messages);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();
  void abort();

 private:
  std::unique_ptr<rd_kafka_s, void (*)(rd_kafka_s*)> producer_;
};

/// The broker that all tests share. Topics and groups get names of their own. Throws with the broker's words.
class Kafka final {
 public:
  Kafka();
  explicit Kafka(std::string brokers);
  ~Kafka();
  Kafka(const Kafka&) = delete;
  Kafka& operator=(const Kafka&) = delete;

  const std::string& brokers() const { return brokers_; }

  /// Makes a topic, with a new name unless one is given, and waits until the broker serves it.
  std::string create_topic(int partitions = 1, const std::string& name = "",
                           const std::map<std::string, std::string>& settings = {});
  void delete_topic(const std::string& topic);
  void add_partitions(const std::string& topic, int total);
  /// Records before that offset are gone, as after a retention.
  void delete_records(const std::string& topic, int partition, std::int64_t before);

  /// While on, nobody may read the topic; it may still be described and written to.
  void deny_reading(const std::string& topic, bool on);

  /// While on, nobody may see that the topic is there.
  void deny_seeing(const std::string& topic, bool on);

  /// While on, nobody may use the group.
  void deny_group(const std::string& group, bool on);

  /// Returns when the broker has them all.
  void produce(const std::vector<Message>& messages);
  /// The same in a transaction, which is committed or aborted.
  void produce_transaction(const std::vector<Message>& messages, bool commit);

  /// Offsets that a group has committed, by partition; a partition without one is not in it.
  std::map<int, std::int64_t> committed(const std::string& group, const std::string& topic);
  /// What the next record of each partition gets; where a transaction is open, its first one.
  std::map<int, std::int64_t> ends(const std::string& topic);
  /// The member ids of a group that has settled; empty while it is joining or where there is none.
  std::vector<std::string> members(const std::string& group);
  /// The group's offsets go with it. It has to be empty; waits until it is.
  void delete_group(const std::string& group);

 private:
  struct Client;
  struct Rule;
  Client& client();
  void deny(const Rule& rule, bool on);
  void make_rules(const std::vector<Rule>& rules);
  void drop_rules(const Rule& of);

  std::string brokers_;
  std::unique_ptr<Client> client_;
};

}  // namespace inboxd::support
