#pragma once
#include <libpq-fe.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/uuid.hpp"
#include "event/record.hpp"

namespace inboxd::inbox {

/// Reads columns of a row in PostgreSQL's binary format.
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
  std::int32_t int4(int column) const;
  std::int64_t int8(int column) const;
  base::Uuid uuid(int column) const;
  /// Microseconds since 1970.
  std::optional<event::Microseconds> time(int column) const;

 private:
  const PGresult* result_;
  int row_;
};

}  // namespace inboxd::inbox
