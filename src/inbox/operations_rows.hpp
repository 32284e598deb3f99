#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pqxx/pqxx>
#include <string>
#include <utility>
#include <vector>

#include "event/record.hpp"
#include "inbox/arrays.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/operations.hpp"

/// How the operations of this room send and read values. Private to it.
namespace inboxd::inbox {

/// Reads the columns of a row one after another, so that a column more needs no renumbering.
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
  std::vector<std::string> texts() {
    const auto array = next().as_sql_array<std::string>();
    std::vector<std::string> out;
    for (std::size_t i = 0; i < array.size(); ++i) out.push_back(array[i]);
    return out;
  }
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

/// Runs a statement that only reads, planned for an answer at once.
pqxx::result look(Connection& connection, const Statement& statement, const pqxx::params& parameters);

/// Lists show that much of a key, which may be as large as a record; their statements ask for one byte more.
inline constexpr std::size_t shown_key = 256;
/// Cuts it, at a character's beginning where it is text. True: something was cut.
bool cut_key(std::optional<std::string>& key);

/// `shard_id … received_at`, 14 columns, as all statements that tell of events order them; then payload and headers.
StoredEvent read_stored_event(RowReader& row, bool with_payload);

/// Exact names and prefixes (ending in *) as LIKE patterns: what inbox.matches means, for statements that look at many
/// rows (a function call for each costs more than all the rest).
ArrayParameter like_patterns(const std::vector<std::string>& names);

}  // namespace inboxd::inbox
