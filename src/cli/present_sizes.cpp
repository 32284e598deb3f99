#include <cmath>

#include "cli/present.hpp"
#include "cli/present_rows.hpp"
#include "cli/value_text.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::cli {
namespace {

namespace columns = operations::columns;

std::string days_text(const Document& growth) {
  const auto& days = growth.at("days_left");
  return days.is_null() ? "never" : number_text(std::llround(std::ceil(days.get<double>())));
}

}  // namespace

std::string present_sizes(const Document& sizes, const Look& look) {
  const std::string tables =
      present_rows(sizes.at("tables"), columns::table_size, {"table", "day", "bytes"}, look);
  const std::string growth = present_rows(sizes.at("growth"), columns::table_growth,
                                          {"table", "bytes_per_day", "days_left"}, look,
                                          [](std::string_view column, const Document& row, Cell& cell) {
                                            if (column == "days_left") cell.text = days_text(row);
                                          });
  return tables + "\n" + growth + "\n" + size_at(sizes, "bytes") + " in all, growing by " +
         size_at(sizes, "bytes_per_day") + " per day at today's rate; free disk space is not known\n";
}

}  // namespace inboxd::cli
