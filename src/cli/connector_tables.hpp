#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/connector.hpp"

namespace inboxd::cli {

/// The topics that a connector reads, and the tables that it writes.
struct ConnectorTables {
  struct Target {
    std::string table;                ///< quoted
    std::vector<std::string> topics;  ///< that go to the table; none: all
  };
  std::vector<std::string> topics;
  std::string pattern;               ///< in place of topics
  std::vector<Target> targets;
  bool folds_names = false;          ///< names are not quoted, so PostgreSQL makes them lower-case
};

/// `routers`: the prefixes of the settings of transforms that rename topics, and so tables.
base::Result<ConnectorTables> read_tables(Connector& connector, const std::vector<std::string>& routers);

}  // namespace inboxd::cli
