#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"

namespace inboxd::config {

/// The configuration files of databases that share topics: a YAML list of paths, relative to the list's folder. The
/// problem names the list and the place in it. Blocks on file I/O.
base::Result<std::vector<std::string>> shard_files(const std::string& path);

}  // namespace inboxd::config
