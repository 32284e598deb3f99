#pragma once
#include <span>

#include "operations/operation.hpp"

/// Rows that C++ code passes on without a decision. A single list of columns for each kind of row says how a row is
/// read from PostgreSQL (stored_event_rows.hpp), written as JSON, described in OpenAPI and shown in a table.
namespace inboxd::operations {

enum class ColumnType {
  text,
  word,            ///< `about` lists the words: `blocked, parked`
  integer,         ///< shown as it is
  count,           ///< shown with separators: 1,234
  size,            ///< bytes; shown as 1.2 KiB
  number,          ///< with a fraction
  seconds,         ///< microseconds in SQL
  flag,
  time,            ///< microseconds since 1970 in SQL
  producers_time,  ///< likewise; a producer can write any time
  uuid,
  bytes,
  key,             ///< bytes, shortened in a list
  is_cut,          ///< not in SQL; a flag, missing unless the key was shortened
  json,            ///< of any type
  limited,         ///< a count, with `at_least_NAME: true` if counting stopped at a limit
  texts,           ///< a list
  range,           ///< of offsets: `{from, to}`
  ranges,          ///< a list of these; shown as 7-9 12-13
  place,           ///< neither in SQL nor in JSON; shown as TOPIC/PARTITION/OFFSET
};

struct Column {
  const char* name;  ///< in SQL and JSON
  ColumnType type;
  const char* about = "";
  const char* title = "";  ///< in a table
  bool gives_way = false;  ///< is cut first on a narrow terminal
  bool is_nullable = false;
  bool is_optional = false;
};

using Columns = std::span<const Column>;

constexpr bool gives_way = true;

/// The column may be null.
constexpr Column maybe(Column column) {
  column.is_nullable = true;
  return column;
}

/// The column is missing instead of null.
constexpr Column optional(Column column) {
  column.is_optional = true;
  return column;
}

/// The rows' schema.
Document schema_of(Columns columns);

}  // namespace inboxd::operations
