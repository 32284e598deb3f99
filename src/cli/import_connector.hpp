#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/connector.hpp"
#include "cli/connector_columns.hpp"

namespace inboxd::cli {

struct ImportOptions {
  std::string brokers = {};         ///< empty: a placeholder
  std::string database_url = {};    ///< without the password; empty: from connection.url
  bool has_password = false;        ///< it was left out of database_url
  FindColumns find_columns = {};    ///< unset: no database was named
};

struct Imported {
  std::string yaml;
  std::vector<std::string> remarks;  ///< all that a person has to do; comments of the file, too
};

/// The configuration of inboxd that does the work of the connector, with comments. No password is in it. The problem
/// has the remedy.
base::Result<Imported> import_connector(Connector connector, const ImportOptions& options);

}  // namespace inboxd::cli
