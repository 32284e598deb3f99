#pragma once
#include <compare>
#include <cstddef>
#include <string>
#include <vector>

namespace inboxd::config {

/// A place in a file, both numbers from 1; line 0 = the whole file. Columns count bytes.
struct Place {
  int line = 0;
  int column = 0;
  auto operator<=>(const Place&) const = default;
};

/// The place of a text value in the file.
struct TextPlace {
  Place begin;            ///< of its first character, or of the quote or `|` before it
  bool is_exact = false;  ///< each line of the text is a line of the file, all from the same column

  /// The place of a character of the text (both from 1, columns in bytes); `begin` if inexact.
  Place at(int line, int column) const;
};

/// A problem or warning about a configuration file. Holds no secrets.
struct Finding {
  std::string file;
  Place place;
  std::string key;       ///< `handlers[0].retry.base`; empty if no key is at fault
  std::string sentence;  ///< the mistake and the remedy
  bool operator==(const Finding&) const = default;

  /// `file:line:column: key: sentence`, on a single line.
  std::string text() const;
};

/// Collects the findings of a file. Keeps at most `limit` problems: a hostile file has many.
class Findings final {
 public:
  static constexpr std::size_t limit = 100;

  explicit Findings(std::string file) : file_{std::move(file)} {}

  void problem(Place place, std::string key, std::string sentence);
  void warning(Place place, std::string key, std::string sentence);
  bool has_problems() const { return !problems_.empty(); }

  /// In the order of the file; beyond the limit, the last problem counts the rest.
  std::vector<Finding> problems() const;
  std::vector<Finding> warnings() const;

 private:
  std::string file_;
  std::vector<Finding> problems_;
  std::vector<Finding> warnings_;
  std::size_t left_out_ = 0;
};

}  // namespace inboxd::config
