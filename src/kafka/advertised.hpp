#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kafka/handle.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::kafka {

/// A broker under the address that the cluster gives to clients.
struct AdvertisedBroker {
  std::int32_t id = 0;
  std::string host;
  std::string port;
};

/// An answer of a broker.
struct Cluster {
  std::vector<std::string> topics;  ///< the names of all visible topics
  std::vector<AdvertisedBroker> brokers;
};

base::Result<Cluster> describe_cluster(rd_kafka_t* client, Timeout timeout);

/// The brokers whose address takes no TCP connection. Blocks for about twice `timeout` at most.
std::vector<AdvertisedBroker> silent_brokers(const std::vector<AdvertisedBroker>& brokers, Timeout timeout);

}  // namespace inboxd::kafka
