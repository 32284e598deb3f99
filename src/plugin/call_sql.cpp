// The extension inboxd.sql/1: converts between the ABI's structs and the transaction's types.
#include "plugin/call_sql.hpp"

#include <algorithm>
#include <cstddef>

#include "plugin/bytes.hpp"
#include "plugin/host.hpp"

namespace inboxd::plugin {
namespace {

/// The size of a statement in version 1.0, the smallest of this major version.
constexpr std::size_t smallest_statement = offsetof(inboxd_sql_statement, count) + sizeof(std::size_t);
constexpr std::size_t uuid_bytes = 16;

inboxd_bytes maybe(const std::optional<std::string>& text) { return text ? to_bytes(*text) : inboxd_bytes{nullptr, 0}; }

transaction::SqlError protocol_error(std::string message) {
  return transaction::error_with("08P01", std::move(message));
}

/// Reads the parameter with this number, from 1.
std::optional<transaction::SqlError> read(const inboxd_sql_value& from, std::size_t number, transaction::SqlValue& to) {
  const auto refused = [&](const std::string& why) {
    return protocol_error("parameter $" + std::to_string(number) + " " + why);
  };
  if (from.type < INBOXD_SQL_NULL || from.type > INBOXD_SQL_JSON) {
    return refused("has the unknown type " + std::to_string(from.type) + "; use a constant of <inboxd/sql.h>");
  }
  const bool has_bytes = from.type == INBOXD_SQL_TEXT || from.type == INBOXD_SQL_BYTEA ||
                         from.type == INBOXD_SQL_UUID || from.type == INBOXD_SQL_JSON;
  if (has_bytes && from.bytes.data == nullptr) return std::nullopt;  // SQL null
  if (from.type == INBOXD_SQL_UUID && from.bytes.size != uuid_bytes) {
    return refused("of type uuid has " + std::to_string(from.bytes.size) + " bytes; it must have 16");
  }
  to = {static_cast<transaction::SqlType>(from.type), from.integer, from.number,
        has_bytes ? to_view(from.bytes) : std::string_view{}};
  return std::nullopt;
}

void value(const inboxd_sql_result* result, std::size_t row, std::size_t column, inboxd_sql_value* to) {
  const transaction::SqlValue from = static_cast<const SqlAnswer*>(result)->rows->value(row, column);
  *to = {static_cast<std::int32_t>(from.type), 0, from.integer, from.number, {nullptr, 0}};
  if (from.bytes.data() != nullptr) to->bytes = to_bytes(from.bytes);
  const bool has_bytes = from.type == transaction::SqlType::text || from.type == transaction::SqlType::json ||
                         from.type == transaction::SqlType::bytea;
  if (has_bytes && to->bytes.data == nullptr) to->bytes = to_bytes(std::string_view{});
}

const inboxd_sql_result* execute(inboxd_call* call, const inboxd_sql_statement* statement) {
  return sql_of_call(call)->execute(statement);
}
void release(inboxd_call* call, const inboxd_sql_result* result) { sql_of_call(call)->release(result); }
std::int32_t savepoint(inboxd_call* call) { return sql_of_call(call)->sql().savepoint(); }
void release_savepoint(inboxd_call* call, std::int32_t number) { sql_of_call(call)->sql().release_savepoint(number); }
void rollback_to(inboxd_call* call, std::int32_t number) { sql_of_call(call)->sql().rollback_to(number); }
std::int32_t state(inboxd_call* call) { return static_cast<std::int32_t>(sql_of_call(call)->sql().state()); }

const inboxd_sql_result* describe(const inboxd_host* host, const inboxd_sql_statement* statement) {
  return static_cast<const HandlerHost*>(host)->describe(statement);
}
const inboxd_sql_result* describe_nothing(const inboxd_host*, const inboxd_sql_statement*) { return nullptr; }

}  // namespace

SqlAnswer::SqlAnswer(std::unique_ptr<transaction::SqlResult> result)
    : inboxd_sql_result{sizeof(inboxd_sql_result), 0,      nullptr, result->affected, result->rows,
                        result->columns.size(),    nullptr},
      rows{std::move(result)} {
  for (const transaction::SqlColumn& column : rows->columns) {
    column_list.push_back({to_bytes(column.name), column.type_id, static_cast<std::int32_t>(column.type)});
  }
  columns = column_list.data();
  if (!rows->error) return;
  const transaction::SqlError& from = *rows->error;
  failure = {sizeof(inboxd_sql_error), from.position,          from.will_repeat ? 1 : 0, from.not_run ? 1 : 0,
             to_bytes(from.sqlstate),  to_bytes(from.message), maybe(from.detail),       maybe(from.hint),
             maybe(from.schema),       maybe(from.table),      maybe(from.column),       maybe(from.constraint),
             maybe(from.data_type)};
  error = &failure;
}

SqlQuestion::SqlQuestion(const inboxd_sql_statement* said, std::size_t events) {
  if (said == nullptr || said->struct_size < smallest_statement) {
    invalid = protocol_error(
        "the statement is NULL or its struct_size is too small; it must be sizeof(inboxd_sql_statement)");
    return;
  }
  values.resize(said->value_count);
  for (std::size_t i = 0; said->values != nullptr && i < values.size() && !invalid; ++i) {
    invalid = read(said->values[i], i + 1, values[i]);
  }
  constexpr std::uint32_t known_flags = INBOXD_SQL_WITH_EVENTS | INBOXD_SQL_JSON_REQUIRED;
  if (const std::uint32_t unknown = said->flags & ~known_flags; unknown != 0) {
    invalid = protocol_error("the statement has the unknown flags " + std::to_string(unknown) +
                             "; use constants of <inboxd/sql.h>");
  }
  const std::size_t first = std::min(said->first, events);
  const auto has = [&](std::uint32_t flag) { return (said->flags & flag) != 0; };
  statement = {
      to_view(said->text),          values, has(INBOXD_SQL_WITH_EVENTS), first, std::min(said->count, events - first),
      has(INBOXD_SQL_JSON_REQUIRED)};
}

const inboxd_sql_result* CallSql::execute(const inboxd_sql_statement* said) {
  const SqlQuestion question{said, events_.size()};
  auto result = question.answered_by([&](const auto& statement) { return sql_.execute(statement); });
  answers_.push_back(std::make_unique<SqlAnswer>(std::move(result)));
  return answers_.back().get();
}

void CallSql::release(const inboxd_sql_result* result) {
  // Results are usually released in reverse order.
  const auto at = std::find_if(answers_.rbegin(), answers_.rend(),
                               [&](const std::unique_ptr<SqlAnswer>& answer) { return answer.get() == result; });
  if (at != answers_.rend()) answers_.erase(std::next(at).base());
}

const inboxd_sql* sql_call_part() {
  static constexpr inboxd_sql part{sizeof(inboxd_sql), 0,           execute, value, release, savepoint,
                                   release_savepoint,  rollback_to, state};
  return &part;
}

const inboxd_sql_host* sql_host_part() {
  static constexpr inboxd_sql_host part{sizeof(inboxd_sql_host), 0, describe};
  return &part;
}

const inboxd_sql_host* sql_entry_part() {
  static constexpr inboxd_sql_host part{sizeof(inboxd_sql_host), 0, describe_nothing};
  return &part;
}

}  // namespace inboxd::plugin
