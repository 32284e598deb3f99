#include "support/mock_brokers.hpp"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <stdexcept>

#include "support/daemon_process.hpp"

namespace inboxd::support {
namespace {

constexpr std::int32_t leader = 1;
constexpr std::int32_t controller = 0;     ///< the reported controller; no broker has that number
constexpr std::int16_t offset_commit = 8;  ///< the request's number in the protocol
constexpr std::int16_t produce = 0;        ///< the request's number in the protocol
constexpr std::int16_t fetch = 1;          ///< the request's number in the protocol

void must(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error{what + ": " + rd_kafka_err2str(error)};
}

rd_kafka_t* make_host() {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 512> error{};
  rd_kafka_conf_set(conf, "log_level", "2", error.data(), error.size());
  rd_kafka_t* const made = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
  if (made == nullptr) throw std::runtime_error{error.data()};
  return made;
}

}  // namespace

struct MockBrokers::Cluster {
  std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> host{make_host(), rd_kafka_destroy};
  std::unique_ptr<rd_kafka_mock_cluster_t, void (*)(rd_kafka_mock_cluster_t*)> brokers{
      rd_kafka_mock_cluster_new(host.get(), 1), rd_kafka_mock_cluster_destroy};
};

MockBrokers::MockBrokers() : cluster_{std::make_unique<Cluster>()} {
  must(rd_kafka_mock_broker_add(cluster_->brokers.get(), controller), "add the controller");
  rd_kafka_mock_group_initial_rebalance_delay_ms(cluster_->brokers.get(), 0);
}

MockBrokers::~MockBrokers() = default;

std::string MockBrokers::addresses() const { return rd_kafka_mock_cluster_bootstraps(cluster_->brokers.get()); }

void MockBrokers::create_topic(const std::string& topic, int partitions) {
  must(rd_kafka_mock_topic_create(cluster_->brokers.get(), topic.c_str(), partitions, 1), "create topic " + topic);
}

void MockBrokers::elect_leader(const std::string& topic, int partition) {
  must(rd_kafka_mock_partition_set_leader(cluster_->brokers.get(), topic.c_str(), partition, leader), "elect");
}

void MockBrokers::remove_leader(const std::string& topic, int partition) {
  must(rd_kafka_mock_partition_set_leader(cluster_->brokers.get(), topic.c_str(), partition, -1), "unseat");
}

void MockBrokers::serve(ConfigText& config) {
  config.brokers = addresses();
  config.kafka["session.timeout.ms"] = "3000";
  coordinate(config.group);
}

void MockBrokers::coordinate(const std::string& group) {
  must(rd_kafka_mock_coordinator_set(cluster_->brokers.get(), "group", group.c_str(), leader), "coordinate " + group);
}

void MockBrokers::lose_coordinator(const std::string& group) {
  coordinate(group);
  must(rd_kafka_mock_broker_set_down(cluster_->brokers.get(), leader), "stop the coordinator");
}

void MockBrokers::return_coordinator() {
  must(rd_kafka_mock_broker_set_up(cluster_->brokers.get(), leader), "start the coordinator");
}

std::int64_t MockBrokers::committed(const std::string& group, const std::string& topic, int partition) const {
  constexpr int patience_ms = 5'000;
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 512> error{};
  rd_kafka_conf_set(conf, "bootstrap.servers", addresses().c_str(), error.data(), error.size());
  rd_kafka_conf_set(conf, "group.id", group.c_str(), error.data(), error.size());
  const std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> client{
      rd_kafka_new(RD_KAFKA_CONSUMER, conf, error.data(), error.size()), rd_kafka_destroy};
  if (client == nullptr) throw std::runtime_error{error.data()};
  const std::unique_ptr<rd_kafka_topic_partition_list_t, void (*)(rd_kafka_topic_partition_list_t*)> asked{
      rd_kafka_topic_partition_list_new(1), rd_kafka_topic_partition_list_destroy};
  rd_kafka_topic_partition_list_add(asked.get(), topic.c_str(), partition);
  must(rd_kafka_committed(client.get(), asked.get(), patience_ms), "ask for the group's offset");
  return asked->elems[0].offset < 0 ? -1 : asked->elems[0].offset;
}

void MockBrokers::delay_fetch(std::chrono::milliseconds by) {
  constexpr std::int32_t the_only_one = 1;
  rd_kafka_mock_broker_push_request_error_rtts(cluster_->brokers.get(), the_only_one, fetch, 1,
                                               RD_KAFKA_RESP_ERR_NO_ERROR, static_cast<int>(by.count()));
}

void MockBrokers::break_sequence() {
  rd_kafka_mock_push_request_errors(cluster_->brokers.get(), produce, 1,
                                    RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
}

void MockBrokers::refuse_commits() {
  rd_kafka_mock_push_request_errors(cluster_->brokers.get(), offset_commit, 3, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
                                    RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
}

}  // namespace inboxd::support
