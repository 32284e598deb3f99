#pragma once
#include <string>
#include <vector>

#include "cli/look.hpp"

namespace inboxd::cli {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  bool gives_way = false;                      ///< is cut first where the terminal is too narrow
};

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

/// A table for people: titles, then a line for each row; columns as wide as their widest cell. Cells may hold anything:
/// what could move the cursor is escaped.
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

/// Names and values below each other, for one thing in detail; what has no value is left out.
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
