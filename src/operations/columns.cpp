#include "operations/columns.hpp"

#include <algorithm>

#include "operations/documents.hpp"
#include "operations/stored_event_rows.hpp"

namespace inboxd::operations {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == ',')
      out.emplace_back();
    else if (c != ' ')
      out.back() += c;
  }
  return out;
}

Document schema_of(const Column& column) {
  const std::string about = column.about;
  switch (column.type) {
    case ColumnType::text:
      return schema::text(about);
    case ColumnType::word:
      return {{"type", "string"}, {"enum", words_of(about)}};
    case ColumnType::integer:
    case ColumnType::count:
    case ColumnType::limited:
    case ColumnType::size:
      return schema::integer(about);
    case ColumnType::number:
    case ColumnType::seconds:
      return schema::number(about);
    case ColumnType::flag:
    case ColumnType::is_cut:
      return schema::flag(about);
    case ColumnType::time:
      return schema::time(about);
    case ColumnType::producers_time:
      return schema::text(about + "; RFC 3339 for years from 1 to 9999");
    case ColumnType::uuid:
      return schema::uuid(about);
    case ColumnType::bytes:
    case ColumnType::key:
      return schema::bytes();
    case ColumnType::json:
      return schema::anything(about);
    case ColumnType::texts:
      return schema::list(schema::text(about));
    case ColumnType::range:
      return schema::reference("OffsetRange");
    case ColumnType::ranges:
      return schema::list(schema::reference("OffsetRange"));
    case ColumnType::place:
      break;
  }
  return nullptr;
}

Document value_of(const pqxx::field& field, ColumnType type) {
  if (field.is_null()) return nullptr;
  switch (type) {
    case ColumnType::integer:
    case ColumnType::count:
    case ColumnType::size:
      return field.as<std::int64_t>();
    case ColumnType::seconds:
      return seconds_of(std::chrono::microseconds{field.as<std::int64_t>()});
    case ColumnType::flag:
      return field.as<bool>();
    case ColumnType::time:
    case ColumnType::producers_time:
      return time_of(field.as<event::Microseconds>());
    case ColumnType::json:
      return Document::parse(field.view(), nullptr, false);
    default:
      return field.as<std::string>();
  }
}

}  // namespace

std::optional<std::string> bytes_in(const pqxx::field& field) {
  if (field.is_null()) return std::nullopt;
  const auto bytes = field.as<pqxx::bytes>();
  return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Document schema_of(Columns columns) {
  Document out = schema::object({});
  for (const Column& column : columns) {
    if (column.type == ColumnType::place) continue;
    if (column.type == ColumnType::limited) {
      out = schema::with_count(std::move(out), column.name, column.about);
      continue;
    }
    const bool is_always = !column.is_optional && column.type != ColumnType::is_cut;
    Document schema = schema_of(column);
    if (column.is_nullable) schema = schema::or_null(std::move(schema));
    out = schema::extended(std::move(out), {{column.name, std::move(schema), is_always}});
  }
  return out;
}

Document read_row(const pqxx::row& row, Columns columns, Extent extent) {
  Document out = Document::object();
  bool is_cut = false;
  for (const Column& column : columns) {
    if (column.type == ColumnType::is_cut || column.type == ColumnType::place) continue;
    const pqxx::field field = row[column.name];
    if (column.type != ColumnType::bytes && column.type != ColumnType::key) {
      if (!column.is_optional || !field.is_null()) out[column.name] = value_of(field, column.type);
      continue;
    }
    auto bytes = bytes_in(field);
    if (column.type == ColumnType::key && extent == Extent::list) is_cut = cut_key(bytes);
    out[column.name] = bytes_of(bytes);
  }
  if (extent == Extent::whole) {
    out["headers"] = headers_of(bytes_in(row["headers"]));
    out["payload"] = bytes_of(bytes_in(row["payload"]));
  } else if (is_cut && std::ranges::any_of(columns, [](const Column& c) { return c.type == ColumnType::is_cut; })) {
    out["key_is_cut"] = true;
  }
  return out;
}

Document list_rows(inbox::Connection& connection, const inbox::Statement& statement, const pqxx::params& parameters,
                   Columns columns, Extent extent) {
  Document out = Document::array();
  for (const auto& row : inbox::run_read(connection, statement, parameters)) {
    out.push_back(read_row(row, columns, extent));
  }
  return out;
}

}  // namespace inboxd::operations
