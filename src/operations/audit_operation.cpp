#include "operations/operation_table.hpp"
#include "operations/row_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {

Answer functions::audit_list(Context& context, const Arguments& arguments) {
  const pqxx::params parameters{like_patterns(arguments.texts("actor")), like_patterns(arguments.texts("operation")),
                                arguments.time("since"), arguments.time("until"), *arguments.number("limit")};
  Document changes = list_rows(*context.connection, inbox::statements::op_audit_list, parameters, columns::change);
  const bool is_empty = changes.empty();
  Document document{{"changes", std::move(changes)}};
  if (is_empty) return {base::ExitCode::no, std::move(document), "no change matches"};
  return {base::ExitCode::done, std::move(document), ""};
}

}  // namespace inboxd::operations
