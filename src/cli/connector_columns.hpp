#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/connector_transforms.hpp"
#include "cli/upsert_statement.hpp"

namespace inboxd::cli {

/// The columns of a table; nullopt: there is no such table.
using FindColumns = std::function<std::optional<std::vector<WrittenColumn>>(const std::string& table)>;

/// All that decides on the columns of a connector's tables.
struct ColumnSources {
  const FindColumns& find;                         ///< unset: no database was named
  std::string search_path;                         ///< of the connector's session; empty: the login's
  std::vector<std::string> keys, others;           ///< fields that the connector names
  InsertMode mode = InsertMode::insert;
  KeySource key_source = KeySource::none;
  const Transforms& transforms;
  bool folds_names = false;
  std::function<void(const std::string&)> remark;  ///< told all that a person has to do
};

/// The columns of a quoted table that the connector writes, those of the primary key first. The problem has the remedy.
base::Result<std::vector<WrittenColumn>> columns_of(const std::string& table, const ColumnSources& from);

}  // namespace inboxd::cli
