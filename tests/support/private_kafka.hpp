#pragma once
#include <csignal>
#include <string>
#include <vector>

#include "support/test_environment.hpp"

namespace inboxd::support {

/// The brokers of a test, which may stop and continue them, all at once.
class PrivateKafka final {
 public:
  /// `lines` go into server.properties. Takes about five seconds for each broker.
  /// `listeners`: more of them, as `MTLS=SSL`.
  explicit PrivateKafka(const std::vector<std::string>& lines = {}, int brokers = 1,
                        const std::vector<std::string>& listeners = {});
  ~PrivateKafka();
  PrivateKafka(const PrivateKafka&) = delete;
  PrivateKafka& operator=(const PrivateKafka&) = delete;

  const std::string& brokers() const { return brokers_; }
  /// The first broker's address behind one of `listeners`.
  std::string address_of(const std::string& listener) const;
  /// Of the first broker's listener PROXIED, and where it says that it is.
  int port_behind_proxy() const { return port_behind_proxy_; }
  int proxy_port() const { return proxy_port_; }
  /// The brokers keep their connections, and answer nothing.
  void hang() const { signal(SIGSTOP); }
  void wake() const { signal(SIGCONT); }
  /// Kills the brokers and starts them with their data, on the same ports. Takes about five seconds for each.
  void restart();

 private:
  void start(std::vector<std::string> lines, const std::vector<std::string>& listeners);
  void stop() noexcept;
  void signal(int number) const;

  std::vector<std::string> folders_;  ///< the first broker's is the cluster's controller, too
  std::vector<pid_t> processes_;
  std::string brokers_;
  int port_behind_proxy_ = 0;
  int proxy_port_ = 0;
};

}  // namespace inboxd::support
