#include "support/kafka.hpp"

#include <librdkafka/rdkafka.h>

#include <array>
#include <functional>
#include <stdexcept>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

constexpr int timeout_ms = 30'000;

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

void must(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error{"Kafka: " + what + ": " + rd_kafka_err2str(error)};
}

void must(rd_kafka_error_t* error, const std::string& what) {
  if (error == nullptr) return;
  const std::string message = rd_kafka_error_string(error);
  rd_kafka_error_destroy(error);
  throw std::runtime_error{"Kafka: " + what + ": " + message};
}

rd_kafka_conf_t* conf_of(const std::map<std::string, std::string>& properties) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 512> error{};
  for (const auto& [name, value] : properties) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error.data(), error.size()) != RD_KAFKA_CONF_OK) {
      throw std::runtime_error{error.data()};
    }
  }
  return conf;
}

rd_kafka_t* make_client(rd_kafka_type_t type, rd_kafka_conf_t* conf) {
  std::array<char, 512> error{};
  rd_kafka_t* const made = rd_kafka_new(type, conf, error.data(), error.size());
  if (made == nullptr) throw std::runtime_error{error.data()};
  return made;
}

rd_kafka_t* make_producer(const std::string& brokers, const std::map<std::string, std::string>& more) {
  std::map<std::string, std::string> all{{"bootstrap.servers", brokers},
                                         {"linger.ms", "2"},
                                         {"message.max.bytes", "20000000"},
                                         {"log_level", "2"},
                                         {"enable.idempotence", "true"},
                                         {"topic.metadata.propagation.max.ms", "5000"}};
  for (const auto& [name, value] : more) all[name] = value;
  rd_kafka_conf_t* const conf = conf_of(all);
  rd_kafka_conf_set_dr_msg_cb(conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void*) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR && message->_private != nullptr) {
      *static_cast<std::string*>(message->_private) = rd_kafka_err2str(message->err);
    }
  });
  return make_client(RD_KAFKA_PRODUCER, conf);
}

rd_kafka_headers_t* headers_of(const Message& message) {
  rd_kafka_headers_t* const headers = rd_kafka_headers_new(message.headers.size());
  for (const auto& [name, value] : message.headers) {
    rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value ? value->data() : nullptr,
                        value ? static_cast<ssize_t>(value->size()) : 0);
  }
  return headers;
}

void send_one(rd_kafka_t* producer, const Message& message, std::string& failure) {
  const void* const payload = message.payload ? message.payload->data() : nullptr;
  const std::size_t payload_size = message.payload ? message.payload->size() : 0;
  const void* const key = message.key ? message.key->data() : nullptr;
  const std::size_t key_size = message.key ? message.key->size() : 0;
  while (true) {
    rd_kafka_headers_t* const headers = headers_of(message);
    const auto error = rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(message.topic.c_str()), RD_KAFKA_V_PARTITION(message.partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(const_cast<void*>(payload), payload_size),
        RD_KAFKA_V_KEY(key, key_size), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_TIMESTAMP(message.timestamp_ms),
        RD_KAFKA_V_OPAQUE(&failure), RD_KAFKA_V_END);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    rd_kafka_headers_destroy(headers);
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) must(error, "produce");
    rd_kafka_poll(producer, 50);
  }
  rd_kafka_poll(producer, 0);
}

void send_all(rd_kafka_t* producer, const std::vector<Message>& messages) {
  std::string failure;
  for (const Message& message : messages) send_one(producer, message, failure);
  must(rd_kafka_flush(producer, timeout_ms), "flush");
  if (!failure.empty()) throw std::runtime_error{"Kafka: a record was not taken: " + failure};
}

void check_topics(const rd_kafka_topic_result_t* const* results, std::size_t count, const std::string& what) {
  for (std::size_t i = 0; i < count; ++i) must(rd_kafka_topic_result_error(results[i]), what);
}

void check_partitions(const rd_kafka_topic_partition_list_t* list, const std::string& what) {
  for (int i = 0; i < list->cnt; ++i) must(list->elems[i].err, what);
}

}  // namespace

Message event_message(const std::string& topic, const std::string& id, const std::string& payload,
                      const std::string& type) {
  return {.topic = topic, .key = id, .payload = payload, .headers = {{"id", id}, {"eventType", type}}};
}

Transaction::Transaction(const std::string& brokers, const std::vector<Message>& messages)
    : producer_{make_producer(brokers, {{"transactional.id", random_name("transaction")}}), rd_kafka_destroy} {
  must(rd_kafka_init_transactions(producer_.get(), timeout_ms), "init transactions");
  must(rd_kafka_begin_transaction(producer_.get()), "begin transaction");
  send_all(producer_.get(), messages);
}

void Transaction::commit() { must(rd_kafka_commit_transaction(producer_.get(), timeout_ms), "commit transaction"); }

void Transaction::abort() { must(rd_kafka_abort_transaction(producer_.get(), timeout_ms), "abort transaction"); }

struct Kafka::Client {
  explicit Client(const std::string& brokers)
      : producer{make_producer(brokers, {}), rd_kafka_destroy},
        queue{rd_kafka_queue_new(producer.get()), rd_kafka_queue_destroy} {}

  template <class Ask, class Read>
  void admin(const std::string& what, Ask&& ask, Read&& read) {
    ask(queue.get());
    const Owned<rd_kafka_event_t> event{rd_kafka_queue_poll(queue.get(), timeout_ms), rd_kafka_event_destroy};
    if (!event) throw std::runtime_error{"Kafka: " + what + ": no answer"};
    must(rd_kafka_event_error(event.get()), what);
    read(event.get());
  }

  int partitions_of(const std::string& topic);

  /// A client that reads a group's offsets without joining it. Not an admin request of the producer: if the group has
  /// no coordinator yet, librdkafka 2.14 then uses the producer's missing consumer and crashes.
  rd_kafka_t* reader_of(const std::string& group, const std::string& brokers) {
    auto at = readers.find(group);
    if (at == readers.end()) {
      rd_kafka_conf_t* const conf = conf_of({{"bootstrap.servers", brokers}, {"group.id", group}, {"log_level", "2"}});
      at = readers.emplace(group, Owned<rd_kafka_t>{make_client(RD_KAFKA_CONSUMER, conf), rd_kafka_destroy}).first;
    }
    return at->second.get();
  }

  Owned<rd_kafka_t> producer;
  Owned<rd_kafka_queue_t> queue;
  std::map<std::string, Owned<rd_kafka_t>> readers;  ///< by group
};

Kafka::Kafka() : Kafka{needed("INBOXD_TEST_KAFKA")} {}
Kafka::Kafka(std::string brokers) : brokers_{std::move(brokers)} {}
Kafka::~Kafka() = default;

Kafka::Client& Kafka::client() {
  if (!client_) client_ = std::make_unique<Client>(brokers_);
  return *client_;
}

int Kafka::Client::partitions_of(const std::string& topic) {
  const Owned<rd_kafka_topic_t> handle{rd_kafka_topic_new(producer.get(), topic.c_str(), nullptr),
                                       rd_kafka_topic_destroy};
  const rd_kafka_metadata_t* metadata = nullptr;
  if (rd_kafka_metadata(producer.get(), 0, handle.get(), &metadata, timeout_ms) != RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
  int count = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
  for (int i = 0; i < count; ++i) {
    if (metadata->topics[0].partitions[i].leader < 0) count = 0;
  }
  rd_kafka_metadata_destroy(metadata);
  return count;
}

std::string Kafka::create_topic(int partitions, const std::string& name,
                                const std::map<std::string, std::string>& settings) {
  const std::string topic = name.empty() ? random_name("topic") : name;
  std::array<char, 512> error{};
  const Owned<rd_kafka_NewTopic_t> wanted{
      rd_kafka_NewTopic_new(topic.c_str(), partitions, -1, error.data(), error.size()), rd_kafka_NewTopic_destroy};
  for (const auto& [key, value] : settings) {
    must(rd_kafka_NewTopic_set_config(wanted.get(), key.c_str(), value.c_str()), key);
  }
  Client& with = client();
  with.admin(
      "create topic",
      [&](rd_kafka_queue_t* queue) {
        rd_kafka_NewTopic_t* list[] = {wanted.get()};
        rd_kafka_CreateTopics(with.producer.get(), list, 1, nullptr, queue);
      },
      [](rd_kafka_event_t* event) {
        std::size_t count = 0;
        const auto* const* const results =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
        check_topics(results, count, "create topic");
      });
  wait_until("the broker serves topic " + topic, [&] { return with.partitions_of(topic) == partitions; });
  // The broker announces partitions before it has created their logs; a first record in between was lost once, without
  // an error.
  wait_until("the broker has the logs of topic " + topic, [&] {
    try {
      return ends(topic).size() == static_cast<std::size_t>(partitions);
    } catch (const std::runtime_error&) {
      return false;
    }
  });
  return topic;
}

void Kafka::delete_topic(const std::string& topic) {
  const Owned<rd_kafka_DeleteTopic_t> wanted{rd_kafka_DeleteTopic_new(topic.c_str()), rd_kafka_DeleteTopic_destroy};
  Client& with = client();
  with.admin(
      "delete topic",
      [&](rd_kafka_queue_t* queue) {
        rd_kafka_DeleteTopic_t* list[] = {wanted.get()};
        rd_kafka_DeleteTopics(with.producer.get(), list, 1, nullptr, queue);
      },
      [](rd_kafka_event_t* event) {
        std::size_t count = 0;
        const auto* const* const results =
            rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
        check_topics(results, count, "delete topic");
      });
  wait_until("topic " + topic + " is gone", [&] { return with.partitions_of(topic) == 0; });
}

void Kafka::add_partitions(const std::string& topic, int total) {
  std::array<char, 512> error{};
  const Owned<rd_kafka_NewPartitions_t> wanted{
      rd_kafka_NewPartitions_new(topic.c_str(), static_cast<std::size_t>(total), error.data(), error.size()),
      rd_kafka_NewPartitions_destroy};
  Client& with = client();
  with.admin(
      "add partitions",
      [&](rd_kafka_queue_t* queue) {
        rd_kafka_NewPartitions_t* list[] = {wanted.get()};
        rd_kafka_CreatePartitions(with.producer.get(), list, 1, nullptr, queue);
      },
      [](rd_kafka_event_t* event) {
        std::size_t count = 0;
        const auto* const* const results =
            rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &count);
        check_topics(results, count, "add partitions");
      });
  wait_until("the broker serves the new partitions", [&] { return with.partitions_of(topic) == total; });
}

void Kafka::delete_records(const std::string& topic, int partition, std::int64_t before) {
  const Owned<rd_kafka_topic_partition_list_t> list{rd_kafka_topic_partition_list_new(1),
                                                    rd_kafka_topic_partition_list_destroy};
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = before;
  const Owned<rd_kafka_DeleteRecords_t> wanted{rd_kafka_DeleteRecords_new(list.get()), rd_kafka_DeleteRecords_destroy};
  Client& with = client();
  with.admin(
      "delete records",
      [&](rd_kafka_queue_t* queue) {
        rd_kafka_DeleteRecords_t* all[] = {wanted.get()};
        rd_kafka_DeleteRecords(with.producer.get(), all, 1, nullptr, queue);
      },
      [](rd_kafka_event_t* event) {
        check_partitions(rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event)),
                         "delete records");
      });
}

struct Kafka::Rule {
  rd_kafka_ResourceType_t kind;
  std::string name;
  rd_kafka_AclOperation_t operation = RD_KAFKA_ACL_OPERATION_ALL;
  rd_kafka_AclPermissionType_t permission = RD_KAFKA_ACL_PERMISSION_TYPE_DENY;
};

void Kafka::make_rules(const std::vector<Rule>& rules) {
  std::array<char, 512> error{};
  std::vector<Owned<rd_kafka_AclBinding_t>> made;
  std::vector<rd_kafka_AclBinding_t*> list;
  for (const Rule& rule : rules) {
    made.emplace_back(
        rd_kafka_AclBinding_new(rule.kind, rule.name.c_str(), RD_KAFKA_RESOURCE_PATTERN_LITERAL, "User:ANONYMOUS", "*",
                                rule.operation, rule.permission, error.data(), error.size()),
        rd_kafka_AclBinding_destroy);
    list.push_back(made.back().get());
  }
  Client& with = client();
  with.admin(
      "create rules",
      [&](rd_kafka_queue_t* queue) {
        rd_kafka_CreateAcls(with.producer.get(), list.data(), list.size(), nullptr, queue);
      },
      [](rd_kafka_event_t* event) {
        std::size_t count = 0;
        const auto* const* const results =
            rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &count);
        for (std::size_t i = 0; i < count; ++i) {
          const rd_kafka_error_t* const failed = rd_kafka_acl_result_error(results[i]);
          if (failed != nullptr) must(rd_kafka_error_code(failed), "create rules");
        }
      });
}

void Kafka::drop_rules(const Rule& of) {
  std::array<char, 512> error{};
  const Owned<rd_kafka_AclBindingFilter_t> all{
      rd_kafka_AclBindingFilter_new(of.kind, of.name.c_str(), RD_KAFKA_RESOURCE_PATTERN_LITERAL, nullptr, nullptr,
                                    RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY, error.data(),
                                    error.size()),
      rd_kafka_AclBinding_destroy};
  Client& with = client();
  with.admin(
      "delete rules",
      [&](rd_kafka_queue_t* queue) {
        rd_kafka_AclBindingFilter_t* list[] = {all.get()};
        rd_kafka_DeleteAcls(with.producer.get(), list, 1, nullptr, queue);
      },
      [](rd_kafka_event_t*) {});
}

void Kafka::deny_reading(const std::string& topic, bool on) {
  const Rule but_read{RD_KAFKA_RESOURCE_TOPIC, topic, RD_KAFKA_ACL_OPERATION_READ};
  if (!on) return drop_rules(but_read);
  // A topic with a rule allows only what its rules allow.
  make_rules(
      {{RD_KAFKA_RESOURCE_TOPIC, topic, RD_KAFKA_ACL_OPERATION_ALL, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW}, but_read});
}

void Kafka::deny_seeing(const std::string& topic, bool on) { deny({RD_KAFKA_RESOURCE_TOPIC, topic}, on); }

void Kafka::deny_group(const std::string& group, bool on) { deny({RD_KAFKA_RESOURCE_GROUP, group}, on); }

void Kafka::deny(const Rule& rule, bool on) { on ? make_rules({rule}) : drop_rules(rule); }

void Kafka::produce(const std::vector<Message>& messages) { send_all(client().producer.get(), messages); }

void Kafka::produce_transaction(const std::vector<Message>& messages, bool commit) {
  Transaction transaction{brokers_, messages};
  commit ? transaction.commit() : transaction.abort();
}

std::map<int, std::int64_t> Kafka::committed(const std::string& group, const std::string& topic) {
  Client& with = client();
  const int partitions = with.partitions_of(topic);
  std::map<int, std::int64_t> out;
  if (partitions == 0) return out;
  const Owned<rd_kafka_topic_partition_list_t> list{rd_kafka_topic_partition_list_new(partitions),
                                                    rd_kafka_topic_partition_list_destroy};
  rd_kafka_topic_partition_list_add_range(list.get(), topic.c_str(), 0, partitions - 1);
  must(rd_kafka_committed(with.reader_of(group, brokers_), list.get(), timeout_ms), "committed offsets");
  check_partitions(list.get(), "committed offsets");
  for (int i = 0; i < list->cnt; ++i) {
    if (list->elems[i].offset >= 0) out[list->elems[i].partition] = list->elems[i].offset;
  }
  return out;
}

std::map<int, std::int64_t> Kafka::ends(const std::string& topic) {
  std::map<int, std::int64_t> out;
  Client& with = client();
  for (int partition = 0; partition < with.partitions_of(topic); ++partition) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    must(rd_kafka_query_watermark_offsets(with.producer.get(), topic.c_str(), partition, &low, &high, timeout_ms),
         "ends");
    out[partition] = high;
  }
  return out;
}

std::vector<std::string> Kafka::members(const std::string& group) {
  std::vector<std::string> out;
  Client& with = client();
  with.admin(
      "describe group",
      [&](rd_kafka_queue_t* queue) {
        const char* all[] = {group.c_str()};
        rd_kafka_DescribeConsumerGroups(with.producer.get(), all, 1, nullptr, queue);
      },
      [&](rd_kafka_event_t* event) {
        std::size_t count = 0;
        const auto* const groups =
            rd_kafka_DescribeConsumerGroups_result_groups(rd_kafka_event_DescribeConsumerGroups_result(event), &count);
        if (count != 1 || rd_kafka_ConsumerGroupDescription_state(groups[0]) != RD_KAFKA_CONSUMER_GROUP_STATE_STABLE) {
          return;
        }
        for (std::size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(groups[0]); ++i) {
          const auto* const member = rd_kafka_ConsumerGroupDescription_member(groups[0], i);
          out.emplace_back(rd_kafka_MemberDescription_consumer_id(member));
        }
      });
  return out;
}

void Kafka::delete_group(const std::string& group) {
  const Owned<rd_kafka_DeleteGroup_t> wanted{rd_kafka_DeleteGroup_new(group.c_str()), rd_kafka_DeleteGroup_destroy};
  Client& with = client();
  std::string last;
  wait_until(
      "group " + group + " can be deleted",
      [&] {
        with.admin(
            "delete group",
            [&](rd_kafka_queue_t* queue) {
              rd_kafka_DeleteGroup_t* all[] = {wanted.get()};
              rd_kafka_DeleteGroups(with.producer.get(), all, 1, nullptr, queue);
            },
            [&](rd_kafka_event_t* event) {
              std::size_t count = 0;
              const auto* const groups =
                  rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &count);
              const auto* const error = rd_kafka_group_result_error(groups[0]);
              last = error == nullptr ? "" : rd_kafka_error_string(error);
            });
        return last.empty();
      },
      patience, [&] { return last; });
}

}  // namespace inboxd::support
