#include "kafka/advertised.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <span>

namespace inboxd::kafka {
namespace {

bool connects(const addrinfo& address, Timeout timeout) {
  const int socket = ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return true;  // this machine's fault, not the broker's
  int error = ::connect(socket, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd ready{socket, POLLOUT, 0};
    socklen_t size = sizeof error;
    const bool is_ready = ::poll(&ready, 1, static_cast<int>(timeout.count())) == 1;
    if (!is_ready || ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = ETIMEDOUT;
  }
  ::close(socket);
  return error == 0;
}

bool is_reached(const std::string& host, const std::string& port, Timeout timeout) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses{found, ::freeaddrinfo};
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (connects(*each, timeout)) return true;
  }
  return false;
}

}  // namespace

base::Result<Cluster> describe_cluster(rd_kafka_t* client, Timeout timeout) {
  const rd_kafka_metadata_t* raw = nullptr;
  const auto error = rd_kafka_metadata(client, 1, nullptr, &raw, static_cast<int>(timeout.count()));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return base::Problem{std::string{"brokers: "} + rd_kafka_err2str(error), rd_kafka_err2name(error)};
  }
  const std::unique_ptr<const rd_kafka_metadata_t, Destroy> metadata{raw};
  Cluster out;
  for (const auto& topic : std::span{metadata->topics, static_cast<std::size_t>(metadata->topic_cnt)}) {
    out.topics.emplace_back(topic.topic);
  }
  for (const auto& broker : std::span{metadata->brokers, static_cast<std::size_t>(metadata->broker_cnt)}) {
    out.brokers.push_back({broker.id, broker.host, std::to_string(broker.port)});
  }
  return out;
}

std::vector<AdvertisedBroker> silent_brokers(const std::vector<AdvertisedBroker>& brokers, Timeout timeout) {
  std::vector<std::future<bool>> reached;
  for (const auto& broker : brokers) {
    reached.push_back(std::async(std::launch::async, is_reached, broker.host, broker.port, timeout));
  }
  std::vector<AdvertisedBroker> out;
  for (std::size_t i = 0; i < brokers.size(); ++i) {
    if (!reached[i].get()) out.push_back(brokers[i]);
  }
  return out;
}

}  // namespace inboxd::kafka
