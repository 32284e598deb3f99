#pragma once
#include <csignal>
#include <string>
#include <vector>

#include "support/test_environment.hpp"

namespace inboxd::support {

/// A broker of one test, which may stop and continue it.
class PrivateKafka final {
 public:
  /// `lines` go into server.properties. Takes about five seconds.
  explicit PrivateKafka(const std::vector<std::string>& lines = {});
  ~PrivateKafka();
  PrivateKafka(const PrivateKafka&) = delete;
  PrivateKafka& operator=(const PrivateKafka&) = delete;

  const std::string& brokers() const { return brokers_; }
  /// The broker keeps its connections, and answers nothing.
  void hang() const { ::kill(process_, SIGSTOP); }
  void wake() const { ::kill(process_, SIGCONT); }

 private:
  std::string folder_;
  std::string brokers_;
  pid_t process_ = 0;
};

}  // namespace inboxd::support
