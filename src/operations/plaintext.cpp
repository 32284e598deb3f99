#include "operations/plaintext.hpp"

#include <sstream>

#include "base/text.hpp"

namespace inboxd::operations {
namespace {

/// Of `host:9092`, `[::1]:9092` or `SASL_SSL://host:9092`.
std::string_view host_of(std::string_view broker) {
  if (const auto scheme = broker.find("://"); scheme != std::string_view::npos) broker.remove_prefix(scheme + 3);
  if (broker.starts_with('[')) return broker.substr(1, broker.find(']') - 1);
  return broker.substr(0, broker.find(':'));
}

}  // namespace

bool is_on_this_machine(std::string_view host) {
  return host.empty() || host.starts_with('/') || host.starts_with("127.") || host == "localhost" || host == "::1";
}

std::string plaintext_broker(const std::string& brokers, const std::map<std::string, std::string>& properties) {
  const auto protocol = properties.find("security.protocol");
  if (protocol != properties.end() && base::lower(protocol->second).ends_with("ssl")) return {};
  std::istringstream all{brokers};
  for (std::string broker; std::getline(all, broker, ',');) {
    const auto begin = broker.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    broker.erase(0, begin);
    if (!is_on_this_machine(host_of(broker))) return broker;
  }
  return {};
}

}  // namespace inboxd::operations
