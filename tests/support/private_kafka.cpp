#include "support/private_kafka.hpp"

#include <unistd.h>

#include <stdexcept>

#include "support/process.hpp"

namespace inboxd::support {
namespace {

constexpr const char* servers = "config/setup/servers";  // tests run in the top folder

std::string value_of(const std::string& name, const std::string& lines) {
  const auto at = lines.find(name + "=");
  if (at == std::string::npos) throw std::runtime_error{name + " is missing in:\n" + lines};
  const auto begin = at + name.size() + 1;
  return lines.substr(begin, lines.find('\n', begin) - begin);
}

}  // namespace

PrivateKafka::PrivateKafka(const std::vector<std::string>& lines) : folder_{"/tmp/" + random_name("kafka")} {
  Command start{.arguments = {servers, "start", folder_, "--no-pg", "--kafka-heap", "256m", "--quick-kafka"}};
  start.arguments.insert(start.arguments.end(), {"--owner", std::to_string(::getpid())});
  for (const std::string& line : lines) start.arguments.insert(start.arguments.end(), {"--kafka-conf", line});
  const auto finished = run_to_end(start, milliseconds{300'000});
  if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{"no broker: " + finished.out + finished.err};
  brokers_ = value_of("INBOXD_TEST_KAFKA", read_file(folder_ + "/env"));
  process_ = std::stoi(read_file(folder_ + "/kafka/pid"));
}

PrivateKafka::~PrivateKafka() {
  try {
    run_to_end({.arguments = {servers, "stop", folder_}});
  } catch (const std::exception&) {  // the servers watch this process, and end after it
  }
}

}  // namespace inboxd::support
