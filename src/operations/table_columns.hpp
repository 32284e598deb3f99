#pragma once
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::operations {

/// A column of a table of the application.
struct TableColumn {
  std::string name;
  std::string type;  ///< as PostgreSQL writes it, without length or precision
  bool is_key = false;
};

/// The columns that an INSERT may name, in their order; empty: there is no such table. `table` is quoted, and looked up
/// in the session's search path: keep the login's (Connection::keep_search_path). Throws database errors.
std::vector<TableColumn> read_table_columns(inbox::Connection& connection, const std::string& table);

}  // namespace inboxd::operations
