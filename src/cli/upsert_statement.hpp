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
  std::vector<WrittenColumn> columns = {};
};

/// The statement for handler `sql` that leaves the same rows. It holds for any number of events in a call: the last
/// event of a primary key counts. Each column is a line of its own, so that it is easy to edit.
std::string statement_for(const TableWrite& write);

/// An SQL identifier in double quotes.
std::string quoted_name(std::string_view name);

}  // namespace inboxd::cli
