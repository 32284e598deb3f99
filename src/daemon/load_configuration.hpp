#pragma once
#include <string>

#include "base/logger.hpp"
#include "config/load.hpp"

namespace inboxd::daemon {

/// Reads and checks a configuration file with config::load_file, and has librdkafka check each of `kafka.properties`.
/// For commands, a start and a reload. Uses no database and no brokers. `offline`: secrets stay empty.
config::Loaded load_configuration(const std::string& file, bool offline = false);
/// Reads the secrets that the command needs.
config::Loaded load_configuration(const std::string& file, config::NeedsSecret needs_secret);

/// As load_configuration, but from the text of `before`; the secrets are read again.
config::Loaded with_new_secrets(const config::Loaded& before);

/// The configured log format; `auto` depends on stderr.
base::LogFormat format_of(const config::Log& log);

}  // namespace inboxd::daemon
