#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace inboxd::cli {

/// The settings of a JDBC sink connector of Kafka Connect. Notes which of them were read, so that all others can be
/// listed.
class Connector final {
 public:
  /// Reads `{"name": …, "config": {…}}`, or the map of settings alone. The problem has the remedy.
  static base::Result<Connector> read(std::string_view json);

  const std::string& name() const { return name_; }  ///< empty: none is given
  const std::string& class_name() const { return class_name_; }
  /// Debezium's connector: other names, and change events without a transform.
  bool is_debezium() const;

  /// The text of a setting; nullopt if it is missing or empty.
  std::optional<std::string> take(const std::string& key);
  /// The setting under either name: most have another name in Debezium's connector.
  std::optional<std::string> take(const std::string& key, const std::string& debezium_key);
  bool take_flag(const std::string& key) { return take(key).value_or("false") == "true"; }
  /// The items of a list with commas.
  std::vector<std::string> take_list(const std::string& key, const std::string& debezium_key);
  /// Takes all settings whose names begin so; returns the names.
  std::vector<std::string> take_all(const std::string& prefix);
  /// The settings that nothing has taken, sorted. Their values may be secrets.
  std::vector<std::string> left() const;

 private:
  std::string name_;
  std::string class_name_;
  std::map<std::string, std::string> settings_;
  std::set<std::string> taken_;
};

/// The items of a list with commas, without blanks around them.
std::vector<std::string> items_of(std::string_view list);

/// A JDBC URL of PostgreSQL as libpq's. The problem repeats no part of the URL, which may hold a password.
struct JdbcUrl {
  std::string url;
  std::string search_path;            ///< currentSchema
  bool had_password = false;          ///< left out
  std::vector<std::string> unknown;  ///< names of parameters without a counterpart
};
base::Result<JdbcUrl> read_jdbc_url(const std::string& text, const std::string& user);

}  // namespace inboxd::cli
