#pragma once
#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <pqxx/pqxx>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/uuid.hpp"
#include "event/record.hpp"
#include "inbox/connection_access.hpp"

namespace inboxd::inbox {

inline std::vector<std::string> texts_of(const pqxx::field& field) {
  const auto array = field.as_sql_array<std::string>();
  return {array.cbegin(), array.cend()};
}

/// Parses `{1,2,NULL}`; null becomes 0.
template <class Number>
std::vector<Number> numbers_of(std::string_view text) {
  std::vector<Number> out;
  if (text.size() < 2) return out;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    Number value = 0;
    std::from_chars(text.data(), text.data() + comma, value);
    out.push_back(value);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

/// Reads the columns of a row in order, so that a new column needs no renumbering.
class RowReader {
 public:
  explicit RowReader(pqxx::row row, int first_column = 0) : row_{std::move(row)}, next_{first_column} {}

  std::string text() { return next().as<std::string>(); }
  std::optional<std::string> maybe_text() { return maybe<std::string>(); }
  std::int32_t int4() { return next().as<std::int32_t>(); }
  std::int64_t int8() { return next().as<std::int64_t>(); }
  std::optional<std::int32_t> maybe_int4() { return maybe<std::int32_t>(); }
  std::optional<std::int64_t> maybe_int8() { return maybe<std::int64_t>(); }
  bool flag() { return next().as<bool>(); }
  std::optional<std::string> maybe_bytes() {
    const pqxx::field field = next();
    if (field.is_null()) return std::nullopt;
    const auto bytes = field.as<pqxx::bytes>();
    return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<std::string> texts() { return texts_of(next()); }
  base::Uuid uuid() { return base::parse_uuid(next().view()).value_or(base::Uuid{}); }
  std::optional<base::Uuid> maybe_uuid() {
    const pqxx::field field = next();
    return field.is_null() ? std::nullopt : base::parse_uuid(field.view());
  }

 private:
  pqxx::field next() { return row_[next_++]; }
  template <class T>
  std::optional<T> maybe() {
    const pqxx::field field = next();
    return field.is_null() ? std::nullopt : std::optional<T>{field.as<T>()};
  }

  pqxx::row row_;
  int next_;
};

/// Reads columns of a row in PostgreSQL's binary format, by number.
class BinaryRow {
 public:
  BinaryRow(const PGresult* result, int row) : result_{result}, row_{row} {}

  bool is_null(int column) const { return PQgetisnull(result_, row_, column) != 0; }
  std::string_view bytes(int column) const {
    return {PQgetvalue(result_, row_, column), static_cast<std::size_t>(PQgetlength(result_, row_, column))};
  }
  event::MaybeBytes maybe_bytes(int column) const {
    return is_null(column) ? event::MaybeBytes{} : event::MaybeBytes{bytes(column)};
  }
  bool flag(int column) const { return bytes(column) != std::string_view{"\0", 1}; }
  std::int32_t int4(int column) const;
  std::int64_t int8(int column) const;
  base::Uuid uuid(int column) const;
  /// Microseconds since 1970.
  std::optional<event::Microseconds> time(int column) const;

 private:
  const PGresult* result_;
  int row_;
};

/// Runs a reading statement without JIT compilation.
pqxx::result run_read(Connection& connection, const Statement& statement, const pqxx::params& parameters);

}  // namespace inboxd::inbox
