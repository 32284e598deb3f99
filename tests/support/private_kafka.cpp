#include "support/private_kafka.hpp"

#include <unistd.h>

#include <stdexcept>

#include "support/process.hpp"

namespace inboxd::support {
namespace {

constexpr const char* servers = "config/setup/servers";  // tests run in the top folder
constexpr const char* heap = "256m";

std::string value_of(const std::string& name, const std::string& lines) {
  const auto at = lines.find(name + "=");
  if (at == std::string::npos) throw std::runtime_error{name + " is missing in:\n" + lines};
  const auto begin = at + name.size() + 1;
  return lines.substr(begin, lines.find('\n', begin) - begin);
}

}  // namespace

PrivateKafka::PrivateKafka(const std::vector<std::string>& lines, int brokers,
                           const std::vector<std::string>& listeners) {
  try {
    for (int i = 0; i < brokers; ++i) start(lines, listeners);
  } catch (...) {
    stop();
    throw;
  }
}

PrivateKafka::~PrivateKafka() { stop(); }

std::string PrivateKafka::address_of(const std::string& listener) const {
  return value_of("INBOXD_TEST_KAFKA_" + listener, read_file(folders_.front() + "/env"));
}

void PrivateKafka::start(std::vector<std::string> lines, const std::vector<std::string>& listeners) {
  const std::string folder = "/tmp/" + random_name("kafka");
  Command start{.arguments = {servers, "start", folder, "--no-pg", "--kafka-heap", heap, "--quick-kafka"}};
  start.arguments.insert(start.arguments.end(), {"--owner", std::to_string(::getpid())});
  if (!folders_.empty()) {
    start.arguments.insert(start.arguments.end(), {"--kafka-joins", folders_.front()});
    lines.push_back("node.id=" + std::to_string(folders_.size() + 1));
  }
  for (const std::string& line : lines) start.arguments.insert(start.arguments.end(), {"--kafka-conf", line});
  for (const std::string& listener : listeners) {
    start.arguments.insert(start.arguments.end(), {"--kafka-listener", listener});
  }
  const auto finished = run_to_end(start, milliseconds{300'000});
  if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{"no broker: " + finished.out + finished.err};
  folders_.push_back(folder);
  processes_.push_back(std::stoi(read_file(folder + "/kafka/pid")));
  const std::string places = read_file(folder + "/env");
  if (brokers_.empty()) {
    port_behind_proxy_ = std::stoi(value_of("INBOXD_TEST_KAFKA_BEHIND_PROXY", places));
    proxy_port_ = std::stoi(value_of("INBOXD_TEST_KAFKA_PROXY_PORT", places));
  }
  brokers_ += (brokers_.empty() ? "" : ",") + value_of("INBOXD_TEST_KAFKA", places);
}

void PrivateKafka::restart() {
  for (std::size_t i = 0; i < folders_.size(); ++i) {
    const auto finished = run_to_end({.arguments = {servers, "restart-broker", folders_[i], heap, "yes"}},
                                     milliseconds{300'000});
    if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{"no broker: " + finished.out + finished.err};
    processes_[i] = std::stoi(read_file(folders_[i] + "/kafka/pid"));
  }
}

void PrivateKafka::stop() noexcept {
  for (const std::string& folder : folders_) {
    try {
      run_to_end({.arguments = {servers, "stop", folder}});
    } catch (const std::exception&) {  // the servers watch this process, and end after it
    }
  }
}

void PrivateKafka::signal(int number) const {
  for (const pid_t process : processes_) ::kill(process, number);
}

}  // namespace inboxd::support
