#pragma once
#include <inboxd/sql.h>

#include <inboxd/handler.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "statement.hpp"

namespace sql_handler {

/// What the server said of a failed statement: a copy, because the server's words end with the result.
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

/// Whether another set of events could fare better: not where the statement itself does not fit the database (a table
/// that is not there), nor where the server has trouble that only time mends. By whether it ran, not by its SQLSTATE: a
/// name inside the data (a cast to regclass) is not found with the same one, and a right can be one row's.
bool depends_on_events(const Failure& failure);

/// Whether time mends it: nothing was found wrong with the statement.
bool is_passing(const Failure& failure);

/// The SQLSTATEs, or classes of them, that no retry mends: setting `permanent`.
class Permanent {
 public:
  Permanent() = default;
  /// A list as the configuration hands it over: `["22","23505"]`. Throws inboxd::SettingsError.
  explicit Permanent(std::string_view list);
  bool has(std::string_view sqlstate) const;

 private:
  std::vector<std::string> entries_;
};

/// What becomes of the event that caused it: SQLSTATE ID001 and what is permanent are dead; IR001 is a retry after the
/// duration in its DETAIL (`30s`, `00:05:00`); everything else a retry after the configured backoff. The error class is
/// `sql.SQLSTATE`. The message names constraint, table and column and repeats no values: DETAIL has those, and stays in
/// the server.
inboxd::Outcome outcome_of(const Failure& failure, const Permanent& permanent);

/// The same for whoever writes the configuration, with the place in the statement.
std::string sentence_of(const Failure& failure, const Statement& statement);

}  // namespace sql_handler
