#pragma once
#include <libpq-fe.h>

#include <memory>
#include <vector>

#include "inbox/database_error.hpp"
#include "inbox/handler_sql.hpp"

namespace inboxd::inbox {

/// Whether all columns can be had in binary form. Private to this room, as all of these.
struct ResultShape {
  std::vector<SqlColumn> columns;
  bool binary = true;
};
ResultShape shape_of(const PGresult* description);

/// The rows of a statement that went well.
std::unique_ptr<SqlResult> rows_of(std::shared_ptr<PGresult> result, const ResultShape& shape);

/// What a failed result says.
SqlError error_of(const PGresult* result);
/// What a failure says that has no result, as of a connection that broke.
SqlError error_of(const DatabaseFailure& failure);
/// The first where the statement is not the handler's: a place in it would mislead.
SqlError error_elsewhere(const PGresult* result);

}  // namespace inboxd::inbox
