#pragma once
#include <compare>
#include <cstddef>
#include <string>
#include <vector>

namespace inboxd::config {

/// Where in a file something stands, both from 1; line 0 = the file as a whole. Columns count bytes.
struct Place {
  int line = 0;
  int column = 0;
  auto operator<=>(const Place&) const = default;
};

/// One thing that is wrong (or unwise) in a configuration file, for the person who can mend it. Holds no secrets.
struct Finding {
  std::string file;
  Place place;
  std::string key;       ///< `handlers[0].retry.base`; empty where no key is at fault
  std::string sentence;  ///< what is wrong and what would be right
  bool operator==(const Finding&) const = default;

  /// `file:line:column: key: sentence`, one line.
  std::string text() const;
};

/// Gathers what is found in one file. No more than `limit` problems are kept: a hostile file has many.
class Findings final {
 public:
  static constexpr std::size_t limit = 100;

  explicit Findings(std::string file) : file_{std::move(file)} {}

  void problem(Place place, std::string key, std::string sentence);
  void warning(Place place, std::string key, std::string sentence);
  bool has_problems() const { return !problems_.empty(); }

  /// In the order of the file; where there were too many, a last one says how many more.
  std::vector<Finding> problems() const;
  std::vector<Finding> warnings() const;

 private:
  std::string file_;
  std::vector<Finding> problems_;
  std::vector<Finding> warnings_;
  std::size_t left_out_ = 0;
};

}  // namespace inboxd::config
