#pragma once
#include <string_view>
#include <vector>

#include "cli/terminal_text.hpp"
#include "operations/columns.hpp"

namespace inboxd::cli {

/// Changes the text or the tone of a row's cell in a column.
using AdjustCell = void (*)(std::string_view column, const operations::Document& row, Cell& cell);

/// The rows as a table with these columns of the list, in this order; empty if there are no rows.
std::string present_rows(const operations::Document& rows, operations::Columns columns,
                         const std::vector<std::string_view>& shown, const Look& look,
                         AdjustCell adjust = nullptr);

}  // namespace inboxd::cli
