#include "operations/kafka_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include "base/text.hpp"
#include "config/handler_connection.hpp"

namespace inboxd::operations {
namespace {

constexpr const char* authorities = "ssl.ca.location";

/// Why the file cannot be read; empty: it can.
std::string reason_of(const std::string& path, bool may_be_folder) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe does not block
  if (file < 0) return std::strerror(errno);
  struct stat about {};
  const bool is_folder = ::fstat(file, &about) == 0 && S_ISDIR(about.st_mode);
  ::close(file);
  return is_folder && !may_be_folder ? "it is a folder" : "";
}

using Properties = std::map<std::string, std::string>;

/// The files of `properties`, for a client with all properties.
void check_files(const Properties& properties, const Properties& all, const std::string& subject,
                 const std::string& map, FoundList& out) {
  const auto protocol = all.find("security.protocol");
  if (protocol == all.end() || !base::lower(protocol->second).ends_with("ssl")) return;  // they have no effect
  for (const auto& [name, path] : properties) {
    const bool is_authorities = name == authorities;
    if (!name.starts_with("ssl.") || !name.ends_with(".location")) continue;
    if (path.empty() || (is_authorities && path == "probe")) continue;  // probe: the library searches the system's
    const std::string reason = reason_of(path, is_authorities);
    if (reason.empty()) continue;
    out.push_back({Finding::Kind::problem, subject,
                   map + "." + name + ": " + path + " cannot be read: " + reason +
                       "; correct the path, or let the daemon's user read it"});
  }
}

}  // namespace

FoundList check_kafka_files(const config::Settings& settings) {
  FoundList out;
  const config::Kafka& kafka = settings.kafka;
  check_files(kafka.properties, kafka.properties, "brokers " + kafka.brokers, "kafka.properties", out);
  for (const config::Handler& handler : settings.handlers) {
    const auto properties = config::properties_of(handler, kafka);
    check_files(properties.own, properties.all, "handler " + handler.name, "settings.properties", out);
  }
  return out;
}

}  // namespace inboxd::operations
