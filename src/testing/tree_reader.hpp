#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/finding.hpp"
#include "config/settings.hpp"
#include "config/tree.hpp"
#include "testing/test_file.hpp"

namespace inboxd::testing {

/// `records[3]`.
std::string at(const std::string& key, std::size_t index);

/// A map's value; null: there is none.
const config::Node* find(const config::Node& map, std::string_view name);

/// Reads the simple parts of a file of tests: texts, numbers, names of handlers. `key` is the place of a part, for
/// people. Each function reports its problems, and returns a default then.
class TreeReader final {
 public:
  /// `folder`: of the files that the tests name.
  TreeReader(config::Findings& findings, const config::Settings& settings, std::filesystem::path folder)
      : findings_{findings}, settings_{settings}, folder_{std::move(folder)} {}

  const config::Settings& settings() const { return settings_; }
  void problem(config::Place place, const std::string& key, std::string sentence) {
    findings_.problem(place, key, std::move(sentence));
  }

  /// A map with no other keys than `known`; none: any keys.
  bool is_map(const config::Node& node, const std::string& key, std::initializer_list<const char*> known);
  bool is_list(const config::Node& node, const std::string& key, std::size_t most);

  std::string text(const config::Node& node, const std::string& key);
  std::optional<std::string> optional_text(const config::Node& map, const std::string& key, const char* name);
  std::string required_text(const config::Node& map, const std::string& key, const char* name);
  std::map<std::string, std::string> texts(const config::Node& map, const std::string& key, const char* name);
  std::optional<std::int64_t> number(const config::Node& map, const std::string& key, const char* name,
                                     std::int64_t least, std::int64_t most);
  std::optional<std::int64_t> time(const config::Node& map, const std::string& key, const char* name);
  Sample sample(const config::Node& node);
  std::optional<Sample> optional_sample(const config::Node& map, const char* name);

  std::string file_content(const config::Node& node, const std::string& key);
  /// SQL, `{file: PATH}`, or a list of both.
  std::vector<std::string> scripts(const config::Node& node, const std::string& key);
  /// The name of a handler of the configuration, with that plugin unless it is empty.
  std::string handler(const config::Entry& entry, const std::string& key, std::string_view plugin = "");

 private:
  config::Findings& findings_;
  const config::Settings& settings_;
  const std::filesystem::path folder_;
};

}  // namespace inboxd::testing
