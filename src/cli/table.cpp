#include "cli/table.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace inboxd::cli {
namespace {

constexpr std::string_view gap = "  ";
constexpr std::size_t narrowest = 8;

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t columns = columns_of(text);
  const std::string space(columns < width ? width - columns : 0, ' ');
  return align == Align::right ? space + text : text + space;
}

}  // namespace

void Table::add(std::vector<Cell> cells) {
  if (cells.size() != columns_.size()) throw std::logic_error{"a row has as many cells as the table has columns"};
  for (Cell& cell : cells) cell.text = one_line(cell.text);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(const Look& look) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, columns_of(row[i].text));
    out.push_back(width);
  }
  if (look.width == 0 || out.empty()) return out;
  auto total = std::accumulate(out.begin(), out.end(), (out.size() - 1) * gap.size());
  // The widest of those that give way goes first, until all fits or none can.
  while (total > look.width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (columns_[i].gives_way && out[i] > narrowest && (widest == nullptr || out[i] > *widest)) widest = &out[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return out;
}

std::string Table::line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                        const Look& look) const {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += gap;
    const bool is_last = i + 1 == cells.size();
    const std::string text = clipped(cells[i].text, widths[i]);
    const bool pads = !is_last || columns_[i].align == Align::right;
    out += in_tone(pads ? padded(text, widths[i], columns_[i].align) : text, cells[i].tone, look);
  }
  if (!look.colour) {
    while (!out.empty() && out.back() == ' ') out.pop_back();
  }
  return out + "\n";
}

std::string Table::text(const Look& look) const {
  const auto sizes = widths(look);
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Tone::faint});
  std::string out = line(titles, sizes, look);
  for (const auto& row : rows_) out += line(row, sizes, look);
  return out;
}

void Sheet::add(std::string name, std::string value, Tone tone) {
  if (value.empty()) return;
  lines_.push_back({std::move(name), {one_line(value), tone}});
}

std::string Sheet::text(const Look& look) const {
  std::size_t width = 0;
  for (const Line& line : lines_) width = std::max(width, columns_of(line.name));
  std::string out;
  for (const Line& line : lines_) {
    out += in_tone(padded(line.name, width, Align::left), Tone::faint, look);
    out.append(gap).append(in_tone(line.value.text, line.value.tone, look)).append("\n");
  }
  return out;
}

}  // namespace inboxd::cli
