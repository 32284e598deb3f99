#pragma once
#include "config/settings.hpp"

namespace inboxd::config {

/// The handler as its plugin gets it: the shipped handler `kafka` also gets the daemon's own connection to the brokers
/// (addresses, security, sockets), with its secrets, as setting `connection`. Any other handler is unchanged.
Handler with_connection(Handler handler, const Kafka& kafka);

}  // namespace inboxd::config
