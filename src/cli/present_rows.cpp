#include "cli/present_rows.hpp"

#include <algorithm>

#include "cli/value_text.hpp"

namespace inboxd::cli {
namespace {

using operations::ColumnType;

bool is_number(ColumnType type) {
  return type == ColumnType::integer || type == ColumnType::count || type == ColumnType::limited ||
         type == ColumnType::size || type == ColumnType::number || type == ColumnType::seconds;
}

std::string ranges_at(const Document& row, const char* name) {
  std::string out;
  for (const auto& range : row.at(name)) {
    out += (out.empty() ? "" : " ") + text_at(range, "from") + "-" + text_at(range, "to");
  }
  return out;
}

std::string text_of(const Document& row, const operations::Column& column) {
  switch (column.type) {
    case ColumnType::count:
    case ColumnType::limited:
      return count_at(row, column.name);
    case ColumnType::size:
      return size_at(row, column.name);
    case ColumnType::seconds:
      return age_at(row, column.name);
    case ColumnType::time:
      return time_at(row, column.name);
    case ColumnType::bytes:
    case ColumnType::key:
      return bytes_at(row, column.name);
    case ColumnType::ranges:
      return ranges_at(row, column.name);
    case ColumnType::json:
      return row.at(column.name).dump(-1, ' ', false, Document::error_handler_t::replace);
    case ColumnType::place:
      return row.contains("topic") ? place_of(row) : "";
    default:
      return text_at(row, column.name);
  }
}

}  // namespace

std::string present_rows(const Document& rows, operations::Columns columns,
                         const std::vector<std::string_view>& shown, const Look& look, AdjustCell adjust) {
  if (rows.empty()) return "";
  std::vector<const operations::Column*> in_order;
  std::vector<Column> titles;
  const bool has_shards = rows.front().contains("shard");
  if (has_shards) titles.push_back({"SHARD", Align::right});
  for (const std::string_view name : shown) {
    const auto found = std::ranges::find_if(columns, [&](const auto& column) { return column.name == name; });
    in_order.push_back(&*found);
    titles.push_back({found->title, is_number(found->type) ? Align::right : Align::left, found->gives_way});
  }
  Table table{std::move(titles)};
  for (const auto& row : rows) {
    std::vector<Cell> cells;
    if (has_shards) cells.push_back({text_at(row, "shard")});
    for (const operations::Column* const column : in_order) {
      Cell& cell = cells.emplace_back(Cell{text_of(row, *column)});
      if (adjust != nullptr) adjust(column->name, row, cell);
    }
    table.add(std::move(cells));
  }
  return table.text(look);
}

}  // namespace inboxd::cli
