#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::cli {

/// A column that a connector writes.
struct WrittenColumn {
  std::string name;
  std::string type = {};  ///< as PostgreSQL writes it; empty: unknown
  bool is_key = false;
  std::string field = {};  ///< of the record
  std::string expression = {};  ///< in SQL, in place of the field
};

/// Where a connector takes the columns of the primary key from.
enum class KeySource { none, kafka, record_key, record_value };
/// The encoding of the record's key.
enum class KeyFormat { json, text };
enum class InsertMode { insert, upsert, update };

/// The rows that a connector writes into one table.
struct TableWrite {
  std::string table;  ///< quoted
  InsertMode mode = InsertMode::insert;
  KeySource key_source = KeySource::none;
  KeyFormat key_format = KeyFormat::json;
  std::string key_field = {};       ///< of the record's key, in place of the column's name; empty: the same
  bool is_change_event = false;     ///< rows are in `after` of Debezium's change events
  bool deletes = false;
  std::string time_zone = "UTC";    ///< of columns `timestamp without time zone`
  std::vector<std::string> todo = {};  ///< what a person has to do before the statement runs; lines at its beginning
  std::vector<WrittenColumn> columns = {};
};

/// The statement for handler `sql` that leaves the same rows. It holds for any number of events in a call: the last
/// event of a primary key counts. Each column is a line of its own, so that it is easy to edit.
std::string statement_for(const TableWrite& write);

/// The time of an event, in SQL.
inline constexpr const char* moment_of_event = "e.occurred_at";

/// A text of SQL in quotes.
std::string quoted_text(std::string_view text);
/// An SQL identifier in double quotes.
std::string quoted_name(std::string_view name);

}  // namespace inboxd::cli
