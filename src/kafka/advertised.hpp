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
  std::string address;  ///< `host:port`
};

/// The brokers whose address takes no TCP connection. Blocks for about three times `timeout` at most.
std::vector<AdvertisedBroker> silent_brokers(rd_kafka_t* client, Timeout timeout);

}  // namespace inboxd::kafka
