#include "operations/key_argument.hpp"
#include "operations/operation_table.hpp"
#include "operations/row_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {

Answer functions::events_failures(Context& context, const Arguments& arguments) {
  const auto [key, refusal] = read_key("events failures", arguments);
  if (refusal) return *refusal;
  pqxx::params parameters{arguments.time("since"), arguments.text("handler")};
  if (key) parameters.append(pqxx::binary_cast(*key));
  else parameters.append();
  parameters.append(*arguments.number("limit"));
  Document failures =
      list_rows(*context.connection, inbox::statements::op_failures, parameters, columns::failed_attempt);
  const bool is_empty = failures.empty();
  Document document{{"failures", std::move(failures)}};
  if (is_empty) return {base::ExitCode::no, std::move(document), "no failed attempt matches"};
  return {base::ExitCode::done, std::move(document), ""};
}

}  // namespace inboxd::operations
