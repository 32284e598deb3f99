// The extension inboxd.sql/1: the contract's structs to the inbox's types and back.
#include "plugin/sql.hpp"

#include <algorithm>
#include <cstddef>

#include "plugin/bytes.hpp"
#include "plugin/host.hpp"

namespace inboxd::plugin {
namespace {

/// The size of a statement in version 1.0: no plugin has a smaller one.
constexpr std::size_t smallest_statement = offsetof(inboxd_sql_statement, count) + sizeof(std::size_t);
constexpr std::size_t uuid_bytes = 16;

inboxd_bytes maybe(const std::optional<std::string>& text) { return text ? to_bytes(*text) : inboxd_bytes{nullptr, 0}; }

inbox::SqlError protocol_error(std::string message) { return inbox::error_with("08P01", std::move(message)); }

std::optional<inbox::SqlError> read(const inboxd_sql_value& from, inbox::SqlValue& to) {
  if (from.type < INBOXD_SQL_NULL || from.type > INBOXD_SQL_JSON) {
    return protocol_error("a parameter has the unknown type " + std::to_string(from.type));
  }
  const bool has_bytes = from.type == INBOXD_SQL_TEXT || from.type == INBOXD_SQL_BYTEA ||
                         from.type == INBOXD_SQL_UUID || from.type == INBOXD_SQL_JSON;
  if (has_bytes && from.bytes.data == nullptr) return std::nullopt;  // null it is
  if (from.type == INBOXD_SQL_UUID && from.bytes.size != uuid_bytes) {
    return protocol_error("a parameter of type uuid has " + std::to_string(from.bytes.size) +
                          " bytes, it must have 16");
  }
  to = {static_cast<inbox::SqlType>(from.type), from.integer, from.number,
        has_bytes ? to_view(from.bytes) : std::string_view{}};
  return std::nullopt;
}

void value(const inboxd_sql_result* result, std::size_t row, std::size_t column, inboxd_sql_value* to) {
  const inbox::SqlValue from = static_cast<const SqlAnswer*>(result)->rows->value(row, column);
  *to = {static_cast<std::int32_t>(from.type), 0, from.integer, from.number, {nullptr, 0}};
  if (from.bytes.data() != nullptr) to->bytes = to_bytes(from.bytes);
  const bool has_bytes =
      from.type == inbox::SqlType::text || from.type == inbox::SqlType::json || from.type == inbox::SqlType::bytea;
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

SqlAnswer::SqlAnswer(std::unique_ptr<inbox::SqlResult> result)
    : inboxd_sql_result{sizeof(inboxd_sql_result), 0,      nullptr, result->affected, result->rows,
                        result->columns.size(),    nullptr},
      rows{std::move(result)} {
  for (const inbox::SqlColumn& column : rows->columns) {
    column_list.push_back({to_bytes(column.name), column.type_id, static_cast<std::int32_t>(column.type)});
  }
  columns = column_list.data();
  if (!rows->error) return;
  const inbox::SqlError& from = *rows->error;
  failure = {sizeof(inboxd_sql_error), from.position,          from.will_repeat ? 1 : 0, from.not_run ? 1 : 0,
             to_bytes(from.sqlstate),  to_bytes(from.message), maybe(from.detail),       maybe(from.hint),
             maybe(from.schema),       maybe(from.table),      maybe(from.column),       maybe(from.constraint),
             maybe(from.data_type)};
  error = &failure;
}

SqlQuestion::SqlQuestion(const inboxd_sql_statement* said, std::size_t events) {
  if (said == nullptr || said->struct_size < smallest_statement) {
    nonsense = protocol_error("the statement is NULL, or its struct_size is not sizeof(inboxd_sql_statement)");
    return;
  }
  values.resize(said->value_count);
  for (std::size_t i = 0; said->values != nullptr && i < values.size() && !nonsense; ++i) {
    nonsense = read(said->values[i], values[i]);
  }
  if ((said->flags & ~INBOXD_SQL_WITH_EVENTS) != 0) nonsense = protocol_error("the statement has unknown flags");
  const std::size_t first = std::min(said->first, events);
  statement = {to_view(said->text), values, (said->flags & INBOXD_SQL_WITH_EVENTS) != 0, first,
               std::min(said->count, events - first)};
}

const inboxd_sql_result* CallSql::execute(const inboxd_sql_statement* said) {
  auto result = SqlQuestion{said, events_}.answered_by([&](const auto& statement) { return sql_.execute(statement); });
  answers_.push_back(std::make_unique<SqlAnswer>(std::move(result)));
  return answers_.back().get();
}

void CallSql::release(const inboxd_sql_result* result) {
  // The last one is the one that goes first, as a rule.
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
