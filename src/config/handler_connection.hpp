#pragma once
#include <map>
#include <string>

#include "config/settings.hpp"

namespace inboxd::config {

/// The handler as its plugin gets it: the shipped handler `kafka` also gets the daemon's own connection to the brokers
/// (addresses, security, sockets), with its secrets, as setting `connection`. Any other handler is unchanged.
Handler with_connection(Handler handler, const Kafka& kafka);

/// The properties of a handler `kafka`: its own, and the daemon's unless it has brokers of its own.
struct HandlerProperties {
  std::map<std::string, std::string> own;
  std::map<std::string, std::string> all;
  std::string brokers;  ///< its own; empty: the daemon's
};
HandlerProperties properties_of(const Handler& handler, const Kafka& kafka);

}  // namespace inboxd::config
