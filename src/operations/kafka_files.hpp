#pragma once
#include "config/settings.hpp"
#include "operations/check.hpp"

namespace inboxd::operations {

/// Problems with files that `ssl.*.location` names and that cannot be read: the client library's own message names
/// neither property nor path. Of kafka.properties, and of `kafka` handlers' settings. Reads these files.
FoundList check_kafka_files(const config::Settings& settings);

}  // namespace inboxd::operations
