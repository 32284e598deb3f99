#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// A broker inside this process, the client library's own, on a port of this machine. It makes each topic that a
/// producer names. For `inboxd test`; a single thread.
class LocalBrokers final {
 public:
  static base::Result<std::unique_ptr<LocalBrokers>> start();
  ~LocalBrokers();
  LocalBrokers(const LocalBrokers&) = delete;
  LocalBrokers& operator=(const LocalBrokers&) = delete;

  /// For `bootstrap.servers`.
  std::string addresses() const;
  /// All records of all topics, once. They have to go before this object.
  base::Result<std::vector<Message>> records();

 private:
  struct Cluster;
  explicit LocalBrokers(std::unique_ptr<Cluster> cluster);
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace inboxd::kafka
