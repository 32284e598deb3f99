#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::cli {

/// The target of a text. The default suits a file or a pipe.
struct Look {
  bool colour = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: unlimited
};

enum class Tone { plain, strong, good, warning, bad, faint };

/// The text in the tone's colour, if the look has colours.
std::string in_tone(std::string_view text, Tone tone, const Look& look);

/// The columns of the text on a terminal (UTF-8 without control characters).
std::size_t columns_of(std::string_view text);

/// Cuts the text to the columns, at a character's end, with `…` at the cut.
std::string clipped(std::string_view text, std::size_t columns);

/// Escapes control characters and bytes that are not UTF-8, so that the text is a single line of a terminal.
std::string one_line(std::string_view text);

/// Escapes each line by itself, so that JSON of several lines stays readable. Each line begins with `indent`.
std::string escaped_lines(std::string_view text, std::string_view indent);

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  bool gives_way = false;  ///< is cut first on a narrow terminal
};

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

/// A table for people: titles, then a line for each row. Columns are as wide as their widest cell. Cells are escaped.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_{std::move(columns)} {}

  /// As many cells as there are columns.
  void add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  std::string text(const Look& look) const;

 private:
  std::vector<std::size_t> widths(const Look& look) const;
  std::string line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths, const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// A list of names and values, for a single thing in detail. Leaves out empty values.
class Sheet {
 public:
  void add(std::string name, std::string value, Tone tone = Tone::plain);
  std::string text(const Look& look) const;

 private:
  struct Line {
    std::string name;
    Cell value;
  };
  std::vector<Line> lines_;
};

}  // namespace inboxd::cli
