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

/// A record to produce. Without a payload it is a tombstone; an empty payload is not.
struct Message {
  std::string topic;
  std::optional<std::string> key = {};
  std::optional<std::string> payload = "";
  std::vector<std::pair<std::string, std::optional<std::string>>> headers = {};
  int partition = -1;  ///< -1: by key
  std::int64_t timestamp_ms = 0;  ///< 0: now
};

/// A record as an outbox router writes it: header `id` (a UUID becomes the event's id), header `eventType`.
Message event_message(const std::string& topic, const std::string& id, const std::string& payload = "{}",
                      const std::string& type = "Happened");

class Transaction final {
 public:
  Transaction(const std::string& brokers, const std::vector<Message>& messages);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();
  void abort();

 private:
  std::unique_ptr<rd_kafka_s, void (*)(rd_kafka_s*)> producer_;
};

/// The shared broker. Topics and groups get new names. Throws with the broker's message.
class Kafka final {
 public:
  Kafka();
  explicit Kafka(std::string brokers);
  ~Kafka();
  Kafka(const Kafka&) = delete;
  Kafka& operator=(const Kafka&) = delete;

  const std::string& brokers() const { return brokers_; }

  /// Creates a topic and waits until the broker serves it.
  std::string create_topic(int partitions = 1, const std::string& name = "",
                           const std::map<std::string, std::string>& settings = {});
  void delete_topic(const std::string& topic);
  void add_partitions(const std::string& topic, int total);
  void delete_records(const std::string& topic, int partition, std::int64_t before);

  /// While on, the topic can be described and written, but not read.
  void deny_reading(const std::string& topic, bool on);

  void deny_seeing(const std::string& topic, bool on);

  void deny_group(const std::string& group, bool on);

  void produce(const std::vector<Message>& messages);
  void produce_transaction(const std::vector<Message>& messages, bool commit);

  /// Committed offsets of a group, by partition; partitions without a committed offset are missing.
  std::map<int, std::int64_t> committed(const std::string& group, const std::string& topic);
  /// The next offset of each partition; with an open transaction, its first offset.
  std::map<int, std::int64_t> ends(const std::string& topic);
  /// The member ids of a stable group; empty while members are joining or without a group.
  std::vector<std::string> members(const std::string& group);
  /// Waits until the group is empty.
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
