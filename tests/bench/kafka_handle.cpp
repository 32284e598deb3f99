#include "kafka_handle.hpp"

#include <stdexcept>

namespace inboxd::bench {

KafkaHandle make_kafka_handle(rd_kafka_type_t type, const std::string& brokers,
                              std::initializer_list<std::pair<const char*, const char*>> properties) {
  char error[512] = "";
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  const auto set = [&](const char* name, const char* value) {
    if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK) throw std::runtime_error{error};
  };
  set("bootstrap.servers", brokers.c_str());
  for (const auto& [name, value] : properties) set(name, value);
  rd_kafka_t* const handle = rd_kafka_new(type, conf, error, sizeof error);
  if (handle == nullptr) throw std::runtime_error{std::string{"Kafka: "} + error};
  return {handle, rd_kafka_destroy};
}

void check_kafka(rd_kafka_resp_err_t code, const std::string& what) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error{what + ": " + rd_kafka_err2str(code)};
}

KafkaHandle consume_from_beginning(const std::string& brokers, const std::string& topic, int partitions) {
  KafkaHandle handle = make_kafka_handle(RD_KAFKA_CONSUMER, brokers,
                                         {{"group.id", "inboxd-bench"},
                                          {"enable.auto.commit", "false"},
                                          {"enable.auto.offset.store", "false"},
                                          {"check.crcs", "true"},
                                          {"fetch.wait.max.ms", "100"},
                                          {"fetch.queue.backoff.ms", "5"},
                                          {"queued.max.messages.kbytes", "65536"}});
  rd_kafka_poll_set_consumer(handle.get());
  rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(partitions);
  for (int partition = 0; partition < partitions; ++partition) {
    rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = 0;
  }
  const auto code = rd_kafka_assign(handle.get(), list);
  rd_kafka_topic_partition_list_destroy(list);
  check_kafka(code, "assign");
  return handle;
}

}  // namespace inboxd::bench
