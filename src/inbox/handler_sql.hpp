#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/record.hpp"

namespace inboxd::inbox {

/// Types of parameters and fields; the numbers are those of the plugin contract (INBOXD_SQL_*).
enum class SqlType { null = 0, boolean, int64, float8, text, bytea, uuid, timestamptz, json };

/// A parameter or a field of a row; its bytes are somebody else's.
struct SqlValue {
  SqlType type = SqlType::null;
  std::int64_t integer = 0;  ///< boolean, int64, timestamptz (microseconds since 1970 UTC)
  double number = 0;
  std::string_view bytes;  ///< text, json, bytea; uuid: 16 bytes
};

/// One statement of a handler. `first` and `count` name events of the call.
struct SqlStatement {
  std::string_view text;
  std::span<const SqlValue> values;
  bool with_events = false;
  std::size_t first = 0;
  std::size_t count = 0;
};

/// What the server said of a statement that failed.
struct SqlError {
  std::string sqlstate;
  std::string message;
  std::uint32_t position = 0;  ///< in characters of the statement as the handler wrote it, from 1
  bool will_repeat = false;    ///< the transaction runs again, whatever the handler says now
  bool not_run = false;        ///< the statement itself is wrong, whatever its events: it could not even be read
  std::optional<std::string> detail, hint, schema, table, column, constraint, data_type;
};

/// One that is said on this side of the connection.
inline SqlError error_with(std::string sqlstate, std::string message) {
  SqlError error;
  error.sqlstate = std::move(sqlstate);
  error.message = std::move(message);
  return error;
}
/// What a connection that broke is told as.
inline constexpr const char* lost_connection = "08006";
/// The server has no room, for anybody.
inline constexpr const char* disk_full = "53100";
/// The server has too little memory: for anybody, or for what it was asked.
inline constexpr const char* out_of_memory = "53200";

struct SqlColumn {
  std::string name;
  std::uint32_t type_id = 0;
  SqlType type = SqlType::text;
};

/// What became of a statement, rows and all.
class SqlResult {
 public:
  virtual ~SqlResult() = default;
  std::optional<SqlError> error;
  std::uint64_t affected = 0;
  std::size_t rows = 0;
  std::vector<SqlColumn> columns;
  /// The bytes live as long as the result.
  virtual SqlValue value(std::size_t, std::size_t) const { return {}; }
};

/// A handler's SQL during one call. The call's thread.
class HandlerSql {
 public:
  enum class State { ready, failed, over };  ///< as in the plugin contract

  virtual ~HandlerSql() = default;
  virtual std::unique_ptr<SqlResult> execute(const SqlStatement& statement) = 0;
  virtual std::int32_t savepoint() = 0;
  virtual void release_savepoint(std::int32_t number) = 0;
  virtual void rollback_to(std::int32_t number) = 0;
  virtual State state() const = 0;
};

/// Asks the database about a statement without running it: for checks at start. Null where there is no database.
class SqlDescriber {
 public:
  virtual ~SqlDescriber() = default;
  virtual std::unique_ptr<SqlResult> describe(const SqlStatement& statement) = 0;
};

}  // namespace inboxd::inbox
