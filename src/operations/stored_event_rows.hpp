#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pqxx/pqxx>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "event/record.hpp"
#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/row_reader.hpp"
#include "operations/columns.hpp"
#include "operations/picked_rows.hpp"
#include "operations/stored_event.hpp"

/// How the statements of this room send and read values; defined in stored_event.cpp. Private to the room.
namespace inboxd::operations {

/// The most bytes of a key that lists show; a key may be as large as a record. The lists' statements select another
/// byte.
inline constexpr std::size_t shown_key = 256;
/// Cuts a longer key, text at a character's beginning. True: it was longer.
bool cut_key(std::optional<std::string>& key);

/// A parameter of type bytea, which owns its bytes.
pqxx::params bytes_parameter(const std::optional<std::string>& bytes);

/// An array of int4, int8, uuid or text as a parameter, which owns its bytes.
template <class Element>
pqxx::bytes array_parameter(const std::vector<Element>& elements) {
  using Type = inbox::ArrayParameter::Type;
  constexpr Type type = std::is_same_v<Element, std::int32_t>   ? Type::int4
                        : std::is_same_v<Element, std::int64_t> ? Type::int8
                        : std::is_same_v<Element, base::Uuid>   ? Type::uuid
                                                                : Type::text;
  return pqxx::bytes{inbox::array_of(type, elements).finish()};
}

enum class Extent {
  list,   ///< keys are shortened
  whole,  ///< with columns `headers` and `payload`
};
/// The rows of a reading statement, which names each of the columns, in any order.
Document list_rows(inbox::Connection& connection, const inbox::Statement& statement, const pqxx::params& parameters,
                   Columns columns, Extent extent = Extent::list);
/// A row of such a statement.
Document read_row(const pqxx::row& row, Columns columns, Extent extent = Extent::list);
/// A row with columns::event_summary and `shard_id`.
StoredEvent read_stored_event(const pqxx::row& row, Extent extent = Extent::list);
Content read_content(const pqxx::row& row);
std::optional<std::string> bytes_in(const pqxx::field& field);

/// A value for each row of a reading statement. `read` takes a RowReader.
template <class Read>
auto read_all(inbox::Connection& connection, const inbox::Statement& statement, const pqxx::params& parameters,
              Read read) {
  std::vector<decltype(read(inbox::RowReader{pqxx::row{}}))> out;
  for (const auto& row : inbox::run_read(connection, statement, parameters)) {
    out.push_back(read(inbox::RowReader{row}));
  }
  return out;
}

/// The rows of a statement that selects ids and names.
std::vector<PickedRow> read_picked(inbox::Connection& connection, const inbox::Statement& statement,
                                   const pqxx::params& parameters);

/// Exact names and prefixes (ending in *) as LIKE patterns with the meaning of inbox.matches, for statements that read
/// many rows: a function call for each row would dominate their cost.
pqxx::bytes like_patterns(const std::vector<std::string>& names);

}  // namespace inboxd::operations
