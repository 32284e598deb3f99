#include "kafka/local_brokers.hpp"

#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <span>
#include <utility>

#include "kafka/log_reader.hpp"
#include "kafka/lookup.hpp"
#include "kafka/properties.hpp"

namespace inboxd::kafka {
namespace {

constexpr Timeout patience{10'000};
constexpr std::size_t portion_bytes = 16 << 20;

struct DestroyCluster {
  void operator()(rd_kafka_mock_cluster_t* cluster) const { rd_kafka_mock_cluster_destroy(cluster); }
};

base::Result<std::vector<Message>> records_of(rd_kafka_t* client, const TopicPartition& partition) {
  std::vector<Message> out;
  const auto log = log_bounds(client, partition, patience);
  if (!log) return log.problem();
  if (log.value().low >= log.value().high) return out;
  LogReader reader{client, partition, log.value().low};
  while (reader.next() < log.value().high) {
    auto chunk = reader.read(log.value().high, portion_bytes, patience);
    if (!chunk) return chunk.problem();
    for (auto& message : chunk.value().messages) out.push_back(std::move(message));
  }
  return out;
}

}  // namespace

struct LocalBrokers::Cluster {
  Client host;  ///< the cluster's threads are its own
  std::unique_ptr<rd_kafka_mock_cluster_t, DestroyCluster> brokers;
  Client reader;  ///< its messages keep it alive
};

LocalBrokers::LocalBrokers(std::unique_ptr<Cluster> cluster) : cluster_{std::move(cluster)} {}
LocalBrokers::~LocalBrokers() = default;

base::Result<std::unique_ptr<LocalBrokers>> LocalBrokers::start() {
  auto conf = make_conf({"127.0.0.1:1", "", "", {{"log_level", "2"}}});  // it never connects
  if (!conf) return conf.problem();
  auto host = make_consumer(std::move(conf).value());
  if (!host) return host.problem();
  auto cluster = std::make_unique<Cluster>();
  cluster->host = std::move(host).value();
  cluster->brokers.reset(rd_kafka_mock_cluster_new(cluster->host.get(), 1));
  if (cluster->brokers == nullptr) return base::Problem{"no port of this machine is free for handlers `kafka`"};
  return std::unique_ptr<LocalBrokers>{new LocalBrokers{std::move(cluster)}};
}

std::string LocalBrokers::addresses() const { return rd_kafka_mock_cluster_bootstraps(cluster_->brokers.get()); }

base::Result<std::vector<Message>> LocalBrokers::records() {
  auto conf = make_conf({addresses(), "", "", {{"fetch.wait.max.ms", "20"}, {"log_level", "2"}}});
  if (!conf) return conf.problem();
  auto client = make_consumer(std::move(conf).value());
  if (!client) return client.problem();
  cluster_->reader = std::move(client).value();
  rd_kafka_t* const reader = cluster_->reader.get();
  // This broker does not know the requests of kafka/lookup about topics.
  const rd_kafka_metadata_t* answer = nullptr;
  const auto error = rd_kafka_metadata(reader, 1, nullptr, &answer, static_cast<int>(patience.count()));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return base::Problem{std::string{"topics: "} + rd_kafka_err2str(error)};
  const std::unique_ptr<const rd_kafka_metadata_t, Destroy> metadata{answer};
  std::vector<Message> out;
  for (const auto& topic : std::span{metadata->topics, static_cast<std::size_t>(metadata->topic_cnt)}) {
    for (std::int32_t partition = 0; partition < topic.partition_cnt; ++partition) {
      auto records = records_of(reader, {topic.topic, partition});
      if (!records) return records.problem();
      for (auto& message : records.value()) out.push_back(std::move(message));
    }
  }
  return out;
}

}  // namespace inboxd::kafka
