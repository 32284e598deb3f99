#include "operations/documents.hpp"
#include "operations/operation_table.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {

Answer functions::audit_list(Context& context, const Arguments& arguments) {
  auto actors = like_patterns(arguments.texts("actor"));
  auto operations = like_patterns(arguments.texts("operation"));
  const pqxx::params parameters{actors.finish(), operations.finish(), arguments.time("since"), arguments.time("until"),
                                *arguments.number("limit")};
  Document changes = Document::array();
  for (const auto& found : inbox::run_read(*context.connection, inbox::statements::op_audit_list, parameters)) {
    inbox::RowReader row{found};
    Document change = {{"occurred_at", time_of(row.int8())}};
    for (const char* const field : {"actor", "operation", "target"}) change[field] = row.text();
    change["detail"] = Document::parse(row.text(), nullptr, false);
    changes.push_back(std::move(change));
  }
  const bool is_empty = changes.empty();
  Document document{{"changes", std::move(changes)}};
  if (is_empty) return {base::ExitCode::no, std::move(document), "no change matches"};
  return {base::ExitCode::done, std::move(document), ""};
}

}  // namespace inboxd::operations
