#include "cli/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include "base/text.hpp"

namespace inboxd::cli {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

/// Wide characters: East Asian scripts and pictographs.
constexpr std::array<Range, 9> wide{{{0x1100, 0x115F},
                                     {0x2E80, 0xA4CF},
                                     {0xAC00, 0xD7A3},
                                     {0xF900, 0xFAFF},
                                     {0xFE30, 0xFE6F},
                                     {0xFF00, 0xFF60},
                                     {0xFFE0, 0xFFE6},
                                     {0x1F300, 0x1FAFF},
                                     {0x20000, 0x3FFFD}}};

std::size_t columns_of_character(std::uint32_t character) {
  if (character >= 0x300 && character <= 0x36F) return 0;
  for (const Range& range : wide) {
    if (character >= range.first && character <= range.last) return 2;
  }
  return 1;
}

/// Removes the first character. The text must be valid UTF-8.
std::uint32_t take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint32_t character = length == 1 ? first : first & (0x7FU >> length);
  for (std::size_t i = 1; i < length && i < text.size(); ++i) {
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  text.remove_prefix(std::min(length, text.size()));
  return character;
}

std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::strong:
      return "1";
    case Tone::good:
      return "32";
    case Tone::warning:
      return "33";
    case Tone::bad:
      return "1;31";
    case Tone::faint:
      return "2";
  }
  return "";
}

constexpr std::string_view gap = "  ";
constexpr std::size_t narrowest = 8;

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t columns = columns_of(text);
  const std::string space(columns < width ? width - columns : 0, ' ');
  return align == Align::right ? space + text : text + space;
}

}  // namespace

std::string in_tone(std::string_view text, Tone tone, const Look& look) {
  if (!look.colour || tone == Tone::plain || text.empty()) return std::string{text};
  std::string out = "\x1b[";
  return out.append(code_of(tone)).append("m").append(text).append("\x1b[0m");
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) columns += columns_of_character(take_character(text));
  return columns;
}

std::string clipped(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string{text};
  std::size_t used = 1;  // the dots
  std::string_view rest = text;
  std::size_t end = 0;
  while (!rest.empty()) {
    used += columns_of_character(take_character(rest));
    if (used > columns) break;
    end = text.size() - rest.size();
  }
  return std::string{text.substr(0, end)} + "…";
}

std::string one_line(std::string_view text) {
  std::string line{text};
  std::replace(line.begin(), line.end(), '\n', ' ');
  return base::escape_controls(line);
}

std::string escaped_lines(std::string_view text, std::string_view indent) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    out.append(indent).append(one_line(text.substr(0, end))).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

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
  // Narrows the widest column that gives way, until the table fits or none can shrink.
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
