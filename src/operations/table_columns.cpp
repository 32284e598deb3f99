#include "operations/table_columns.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::operations {

std::vector<TableColumn> read_table_columns(inbox::Connection& connection, const std::string& table) {
  using Effect = inbox::Connection::Access::Effect;
  connection.open();
  std::vector<TableColumn> out;
  // call(), and not run(), which would replace the search path.
  const auto rows = connection.access().call(inbox::statements::op_table_columns, pqxx::params{table}, Effect::reads);
  for (const auto& columns : rows) {
    inbox::RowReader row{columns};
    out.push_back({row.text(), row.text(), row.flag()});
  }
  return out;
}

}  // namespace inboxd::operations
