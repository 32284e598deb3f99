#pragma once
#include <inboxd/sql.h>

#include <inboxd/handler.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sql_handler {

/// The server's report on a failed statement. A copy: the original ends with the result.
struct Failure {
  explicit Failure(const inboxd_sql_error& error);

  std::string sqlstate;
  std::string message;
  std::string detail;
  std::string hint;
  std::string table;  ///< with its schema
  std::string column;
  std::string constraint;
  std::uint32_t position;
  bool will_repeat;
  bool not_run;
};

/// Whether another set of events could succeed. Not if the statement does not fit the database (a missing table), nor
/// if only time helps. Decided by whether the statement ran, not by SQLSTATE: a name inside the data (a cast to
/// regclass) is missing with the same SQLSTATE, and a right can concern a single row.
bool depends_on_events(const Failure& failure);

/// Whether only time helps: nothing is wrong with the statement.
bool is_passing(const Failure& failure);

/// SQLSTATEs, or classes of them, that no retry mends: setting `permanent`.
class Permanent {
 public:
  Permanent() = default;
  /// From the configuration: `["22","23505"]`. Throws inboxd::SettingsError.
  explicit Permanent(std::string_view list);
  bool has(std::string_view sqlstate) const;

 private:
  std::vector<std::string> entries_;
};

/// The verdict on the culprit. SQLSTATE ID001 and permanent states: dead. IR001: a retry after the duration in DETAIL
/// (`30s`, `00:05:00`). All others: a retry after the configured backoff. The error class is `sql.SQLSTATE`; a payload
/// that is not JSON is dead with `sql.not_json`. The message names constraint, table and column, but no values: values
/// are in DETAIL, which stays in the server.
inboxd::Outcome outcome_of(const Failure& failure, const Permanent& permanent);

}  // namespace sql_handler
