#pragma once
#include <string>

#include "config/load.hpp"

namespace inboxd::daemon {

/// Reads and checks a configuration file as config::load_file does, and has the client library of Kafka try each of
/// `kafka.properties`. Whoever loads a file does it here: commands, a start, a reload. Asks no database and no brokers.
/// `offline`: secrets are not looked up and stay empty.
config::Loaded load_configuration(const std::string& file, bool offline = false);

}  // namespace inboxd::daemon
