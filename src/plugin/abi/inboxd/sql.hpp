// SPDX-License-Identifier: Apache-2.0
//
// SQL in the transaction that also records the outcomes, in C++17 or newer. <inboxd/sql.h> has the contract. Include
// <inboxd/handler.hpp>.
//
//     struct Book : inboxd::Handler {
//       explicit Book(const inboxd::Settings&) {}
//
//       inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
//         call.sql().execute("insert into receipt (order_id, body) values ($1, $2)", event.key(), event.payload());
//         for (auto [id, total] : call.sql().query<std::int64_t, std::string>("select id, total from account"
//                                                                             " where name = $1", event.key())) { … }
//         return inboxd::done();
//       }
//     };
//     INBOXD_HANDLER(Book, "book", "1.0", INBOXD_SQL)
//
// A failed statement throws SqlError. Uncaught, it makes the event a retry of class `sql.SQLSTATE` and undoes only that
// event's writes. To continue after a failure, set a savepoint first:
//
//     inboxd::Savepoint before = call.sql().savepoint();
//     try { call.sql().execute(…); } catch (const inboxd::SqlError& error) { before.roll_back(); }
#pragma once

#include <inboxd/sql.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <inboxd/basics.hpp>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace inboxd {

// A failed statement. `what()` is the server's message with SQLSTATE and constraint.
class SqlError : public std::runtime_error {
 public:
  explicit SqlError(const inboxd_sql_error& error)
      : std::runtime_error{sentence(error)},
        sqlstate_{text(error.sqlstate)},
        detail_{text(error.detail)},
        table_{text(error.table)},
        column_{text(error.column)},
        constraint_{text(error.constraint)},
        position_{error.position},
        will_repeat_{error.will_repeat != 0} {}

  const std::string& sqlstate() const { return sqlstate_; }
  const std::string& detail() const { return detail_; }
  const std::string& table() const { return table_; }
  const std::string& column() const { return column_; }
  const std::string& constraint() const { return constraint_; }
  std::uint32_t position() const { return position_; }  // in characters from 1; 0: none
  // The daemon runs the whole transaction again: neither further statements nor the outcomes count.
  bool will_repeat() const { return will_repeat_; }
  std::string error_class() const { return "sql." + sqlstate_; }

 private:
  static std::string text(inboxd_bytes bytes) { return std::string{detail::view(bytes)}; }
  static std::string sentence(const inboxd_sql_error& error) {
    std::string out = text(error.message) + " (" + text(error.sqlstate);
    if (error.constraint.data != nullptr) out += ", constraint " + text(error.constraint);
    return out + ")";
  }

  std::string sqlstate_, detail_, table_, column_, constraint_;
  std::uint32_t position_;
  bool will_repeat_;
};

// ---- Values ---------------------------------------------------------------------------------------------------------

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  bool operator==(const Uuid& other) const { return bytes == other.bytes; }
  bool operator!=(const Uuid& other) const { return bytes != other.bytes; }
};

// Bytes and JSON as parameters. A plain text fits both, too, if the statement determines the type.
struct Bytea {
  std::string_view bytes;
};
struct Json {
  std::string_view text;
};

namespace detail {

inline inboxd_sql_value sql_value(const inboxd_sql_value& value) { return value; }
inline inboxd_sql_value sql_value(std::nullptr_t) { return inboxd_sql_null(); }
inline inboxd_sql_value sql_value(std::nullopt_t) { return inboxd_sql_null(); }
inline inboxd_sql_value sql_value(std::string_view text) { return inboxd_sql_text(bytes(text)); }
inline inboxd_sql_value sql_value(const std::string& text) { return inboxd_sql_text(bytes(text)); }
inline inboxd_sql_value sql_value(const char* text) { return inboxd_sql_text(inboxd_text(text)); }
inline inboxd_sql_value sql_value(const Uuid& uuid) { return inboxd_sql_uuid(uuid.bytes.data()); }
inline inboxd_sql_value sql_value(Bytea raw) { return inboxd_sql_bytea(bytes(raw.bytes)); }
inline inboxd_sql_value sql_value(Json json) { return inboxd_sql_json(bytes(json.text)); }
inline inboxd_sql_value sql_value(Time time) { return inboxd_sql_time(time.time_since_epoch().count()); }
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
inboxd_sql_value sql_value(Number number) {
  if constexpr (std::is_same_v<Number, bool>) {
    return inboxd_sql_bool(number);
  } else if constexpr (std::is_floating_point_v<Number>) {
    return inboxd_sql_double(static_cast<double>(number));
  } else {
    static_assert(sizeof(Number) < 8 || std::is_signed_v<Number>, "PostgreSQL has no unsigned 64-bit integer");
    return inboxd_sql_int64(static_cast<std::int64_t>(number));
  }
}
template <class Type>
inboxd_sql_value sql_value(const std::optional<Type>& maybe) {
  return maybe ? sql_value(*maybe) : inboxd_sql_null();
}

[[noreturn]] inline void wrong_type(const char* wanted) {
  throw std::runtime_error{std::string{"a column of the result is null or not of type "} + wanted +
                           "; read columns that may be null as std::optional"};
}

inline bool is_bytes(const inboxd_sql_value& value) {
  return value.type == INBOXD_SQL_TEXT || value.type == INBOXD_SQL_JSON || value.type == INBOXD_SQL_BYTEA;
}

// Reads a field as the requested type.
template <class Type>
struct Field {
  static Type read(const inboxd_sql_value& value) {
    static_assert(std::is_arithmetic_v<Type>, "ask for numbers, bool, std::string, std::string_view, Uuid, Time");
    if constexpr (std::is_same_v<Type, bool>) {
      if (value.type != INBOXD_SQL_BOOL) wrong_type("bool");
      return value.integer != 0;
    } else if constexpr (std::is_floating_point_v<Type>) {
      if (value.type == INBOXD_SQL_DOUBLE) return static_cast<Type>(value.number);
      if (value.type == INBOXD_SQL_INT64) return static_cast<Type>(value.integer);
      if (value.type != INBOXD_SQL_TEXT) wrong_type("number");
      return static_cast<Type>(std::strtod(std::string{view(value.bytes)}.c_str(), nullptr));  // numeric
    } else {
      if (value.type != INBOXD_SQL_INT64) wrong_type("integer");
      if (value.integer < static_cast<std::int64_t>(std::numeric_limits<Type>::min()) ||
          (sizeof(Type) < 8 && value.integer > static_cast<std::int64_t>(std::numeric_limits<Type>::max()))) {
        throw std::runtime_error{"a number in the result is out of range for the requested type; ask for a wider type"};
      }
      return static_cast<Type>(value.integer);
    }
  }
};
template <>
struct Field<std::string_view> {
  static std::string_view read(const inboxd_sql_value& value) {
    if (!is_bytes(value)) wrong_type("text");
    return view(value.bytes);
  }
};
template <>
struct Field<std::string> {
  static std::string read(const inboxd_sql_value& value) {
    if (value.type == INBOXD_SQL_INT64) return std::to_string(value.integer);
    if (value.type == INBOXD_SQL_UUID) {
      char text[INBOXD_ID_TEXT_SIZE];
      inboxd_format_id(reinterpret_cast<const std::uint8_t*>(value.bytes.data), text);
      return text;
    }
    return std::string{Field<std::string_view>::read(value)};
  }
};
template <>
struct Field<Uuid> {
  static Uuid read(const inboxd_sql_value& value) {
    if (value.type != INBOXD_SQL_UUID) wrong_type("uuid");
    Uuid out;
    std::memcpy(out.bytes.data(), value.bytes.data, out.bytes.size());
    return out;
  }
};
template <>
struct Field<Time> {
  static Time read(const inboxd_sql_value& value) {
    if (value.type != INBOXD_SQL_TIMESTAMPTZ) wrong_type("timestamptz");
    return Time{std::chrono::microseconds{value.integer}};
  }
};
template <class Type>
struct Field<std::optional<Type>> {
  static std::optional<Type> read(const inboxd_sql_value& value) {
    if (value.type == INBOXD_SQL_NULL) return std::nullopt;
    return Field<Type>::read(value);
  }
};

}  // namespace detail

// ---- Rows -----------------------------------------------------------------------------------------------------------

// The result of a statement, freed with this object. std::string_view fields live as long.
class SqlResult {
 public:
  SqlResult(const inboxd_sql* sql, inboxd_call* call, const inboxd_sql_result* result)
      : sql_{sql}, call_{call}, result_{result} {}
  ~SqlResult() { sql_->release(call_, result_); }
  SqlResult(SqlResult&& other) noexcept
      : sql_{other.sql_}, call_{other.call_}, result_{std::exchange(other.result_, nullptr)} {}
  SqlResult(const SqlResult&) = delete;
  SqlResult& operator=(const SqlResult&) = delete;
  SqlResult& operator=(SqlResult&&) = delete;

  std::size_t size() const { return result_->row_count; }
  std::size_t columns() const { return result_->column_count; }
  std::uint64_t affected() const { return result_->affected; }
  template <class Type>
  Type get(std::size_t row, std::size_t column) const {
    inboxd_sql_value value;
    sql_->value(result_, row, column, &value);
    return detail::Field<Type>::read(value);
  }
  const inboxd_sql_result& raw() const { return *result_; }

 private:
  const inboxd_sql* sql_;
  inboxd_call* call_;
  const inboxd_sql_result* result_;
};

// Rows as tuples: `for (auto [id, name] : call.sql().query<std::int64_t, std::string>(…))`.
template <class... Types>
class Rows {
 public:
  explicit Rows(SqlResult result) : result_{std::move(result)} {
    if (result_.columns() != sizeof...(Types)) {
      throw std::logic_error{"the query has " + std::to_string(result_.columns()) + " columns, but the code asks for " +
                             std::to_string(sizeof...(Types))};
    }
  }

  std::size_t size() const { return result_.size(); }
  bool empty() const { return size() == 0; }
  std::tuple<Types...> operator[](std::size_t row) const { return read(row, std::index_sequence_for<Types...>{}); }

  class Iterator {
   public:
    Iterator(const Rows* rows, std::size_t row) : rows_{rows}, row_{row} {}
    std::tuple<Types...> operator*() const { return (*rows_)[row_]; }
    Iterator& operator++() {
      ++row_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return row_ == other.row_; }
    bool operator!=(const Iterator& other) const { return row_ != other.row_; }

   private:
    const Rows* rows_;
    std::size_t row_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  template <std::size_t... Columns>
  std::tuple<Types...> read(std::size_t row, std::index_sequence<Columns...>) const {
    return std::tuple<Types...>{result_.template get<Types>(row, Columns)...};
  }
  SqlResult result_;
};

// ---- Savepoints -----------------------------------------------------------------------------------------------------

// Undoes the writes since its creation when it is destroyed, unless `keep` was called. Costs no round trip.
class Savepoint {
 public:
  Savepoint(const inboxd_sql* sql, inboxd_call* call) : sql_{sql}, call_{call}, number_{sql->savepoint(call)} {}
  ~Savepoint() { roll_back(); }
  Savepoint(Savepoint&& other) noexcept
      : sql_{other.sql_}, call_{other.call_}, number_{std::exchange(other.number_, 0)} {}
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  Savepoint& operator=(Savepoint&&) = delete;

  void keep() {
    if (number_ > 0) sql_->release_savepoint(call_, std::exchange(number_, 0));
  }
  void roll_back() {
    if (number_ > 0) sql_->rollback_to(call_, std::exchange(number_, 0));
  }

 private:
  const inboxd_sql* sql_;
  inboxd_call* call_;
  std::int32_t number_;
};

// ---- The call's SQL -------------------------------------------------------------------------------------------------

// A range of a call's events, by index.
struct EventRange {
  std::size_t first = 0;
  std::size_t count = INBOXD_THE_REST;
};

// SQL during a call. Only on the call's thread. Cheap to create and copy.
class Sql {
 public:
  Sql(const inboxd_sql* sql, inboxd_call* call) : sql_{sql}, call_{call} {}

  // Runs a statement; returns the number of rows that it changed or selected.
  template <class... Values>
  std::uint64_t execute(std::string_view text, const Values&... values) {
    return run(text, 0, {}, values...).affected();
  }
  // Runs a statement and returns its rows.
  template <class... Types, class... Values>
  Rows<Types...> query(std::string_view text, const Values&... values) {
    return Rows<Types...>{run(text, 0, {}, values...)};
  }
  // Runs a statement that sees the events of the call as relation `events`.
  template <class... Values>
  std::uint64_t execute_with_events(std::string_view text, const Values&... values) {
    return run(text, INBOXD_SQL_WITH_EVENTS, {}, values...).affected();
  }
  template <class... Values>
  std::uint64_t execute_with_events(EventRange range, std::string_view text, const Values&... values) {
    return run(text, INBOXD_SQL_WITH_EVENTS, range, values...).affected();
  }
  template <class... Types, class... Values>
  Rows<Types...> query_with_events(EventRange range, std::string_view text, const Values&... values) {
    return Rows<Types...>{run(text, INBOXD_SQL_WITH_EVENTS, range, values...)};
  }

  Savepoint savepoint() { return {sql_, call_}; }

  bool is_ready() const { return sql_->state(call_) == INBOXD_SQL_READY; }
  const inboxd_sql& raw() const { return *sql_; }

 private:
  template <class... Values>
  SqlResult run(std::string_view text, std::uint32_t flags, EventRange range, const Values&... values) {
    const std::array<inboxd_sql_value, sizeof...(Values) + 1> all{detail::sql_value(values)..., inboxd_sql_null()};
    const inboxd_sql_statement statement{sizeof(inboxd_sql_statement),
                                         flags,
                                         detail::bytes(text),
                                         all.data(),
                                         sizeof...(Values),
                                         range.first,
                                         range.count};
    SqlResult result{sql_, call_, sql_->execute(call_, &statement)};
    if (result.raw().error != nullptr) throw SqlError{*result.raw().error};
    return result;
  }

  const inboxd_sql* sql_;
  inboxd_call* call_;
};

}  // namespace inboxd
