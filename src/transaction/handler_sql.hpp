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

#include "base/uuid.hpp"
#include "event/record.hpp"

namespace inboxd::transaction {

/// Types of parameters and fields, numbered as in the plugin contract (INBOXD_SQL_*).
enum class SqlType { null = 0, boolean, int64, float8, text, bytea, uuid, timestamptz, json };

/// A parameter or a field of a row. Its bytes are a view.
struct SqlValue {
  SqlType type = SqlType::null;
  std::int64_t integer = 0;  ///< boolean, int64, timestamptz (microseconds since 1970 UTC)
  double number = 0;
  std::string_view bytes;  ///< text, json, bytea; uuid: 16 bytes
};

/// A statement of a handler. `first` and `count` select events of the call.
struct SqlStatement {
  std::string_view text;
  std::span<const SqlValue> values;
  bool with_events = false;
  std::size_t first = 0;
  std::size_t count = 0;
  bool requires_json = false;  ///< a statement that reads `body` fails on a payload that is not JSON
};

/// A failed statement, as the server reports it.
struct SqlError {
  std::string sqlstate;
  std::string message;
  std::uint32_t position = 0;  ///< in characters of the handler's statement, from 1; 0: none
  bool will_repeat = false;    ///< the transaction runs again, regardless of the handler's verdict
  bool not_run = false;        ///< the server could not parse the statement: it fails for all events
  std::optional<std::string> detail, hint, schema, table, column, constraint, data_type;
};

/// An error that the daemon itself raises.
inline SqlError error_with(std::string sqlstate, std::string message) {
  SqlError error;
  error.sqlstate = std::move(sqlstate);
  error.message = std::move(message);
  return error;
}
/// The SQLSTATE of a broken connection.
inline constexpr const char* lost_connection = "08006";
inline constexpr const char* disk_full = "53100";
inline constexpr const char* out_of_memory = "53200";  // of the server, or for this statement

struct SqlColumn {
  std::string name;
  std::uint32_t type_id = 0;
  SqlType type = SqlType::text;
};

/// The result of a statement with its rows, or its error.
class SqlResult {
 public:
  virtual ~SqlResult() = default;
  std::optional<SqlError> error;
  std::uint64_t affected = 0;
  std::size_t rows = 0;
  std::vector<SqlColumn> columns;
  /// The value's bytes live as long as the result.
  virtual SqlValue value(std::size_t, std::size_t) const { return {}; }
};

/// A message for the outbox. A view.
struct OutboxMessage {
  std::string_view topic;
  std::optional<std::string_view> key, payload;
  std::optional<std::string> headers;  ///< packed
  std::optional<base::Uuid> id{};  ///< nullopt: a new id
};

/// A handler's SQL during a call. For the thread of the call.
class HandlerSql {
 public:
  enum class State { ready, failed, over };  ///< as in the plugin contract

  virtual ~HandlerSql() = default;
  virtual std::unique_ptr<SqlResult> execute(const SqlStatement& statement) = 0;
  virtual std::int32_t savepoint() = 0;
  virtual void release_savepoint(std::int32_t number) = 0;
  virtual void rollback_to(std::int32_t number) = 0;
  virtual State state() const = 0;
  /// Publishes messages under the daemon's role, all or none; sets as many ids. The result has no rows.
  virtual std::unique_ptr<SqlResult> publish(std::span<const OutboxMessage>, std::span<base::Uuid> /*ids*/) {
    auto result = std::make_unique<SqlResult>();
    result->error = error_with("0A000", "there is no outbox here");
    return result;
  }
};

/// Has the server check a statement without running it, at a start. Null: the database cannot be reached.
class SqlDescriber {
 public:
  virtual ~SqlDescriber() = default;
  virtual std::unique_ptr<SqlResult> describe(const SqlStatement& statement) = 0;
};

}  // namespace inboxd::transaction
