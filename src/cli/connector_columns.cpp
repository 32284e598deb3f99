#include "cli/connector_columns.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace inboxd::cli {
namespace {

using Names = std::vector<std::string>;
using Columns = std::vector<WrittenColumn>;

/// Columns that the connector's settings name, but not the table.
void remark_missing(const std::string& table, const ColumnSources& from, const Names& keys, const Names& others,
                    const Columns& known) {
  const auto is_missing = [&](const std::string& name) {
    const std::string column = from.folds_names ? base::lower(name) : name;
    return std::none_of(known.begin(), known.end(), [&](const auto& one) { return one.name == column; });
  };
  const auto look = [&](const char* setting, const Names& names) {
    for (const auto& name : names) {
      if (!is_missing(name)) continue;
      from.remark(std::string{setting} + ": table " + table + " has no column " +
                  quoted_name(base::shorten(name, 100)) +
                  "; add it to the table, or correct the setting and run this again");
    }
  };
  look("pk.fields", keys);
  look("fields.whitelist", others);
}

Columns described(const ColumnSources& from, const Names& keys, const Names& others, const Columns& known) {
  Columns out;
  const auto add = [&](const std::string& name, bool is_key) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
    const std::string column = from.folds_names ? base::lower(name) : name;
    const bool is_in_key = is_key && from.key_source == KeySource::record_key;
    const auto& changes = is_in_key ? from.transforms.of_key : from.transforms.of_value;
    const auto origin = origin_of(changes, name).value_or(FieldOrigin{name});
    const bool is_place = is_key && from.key_source == KeySource::kafka;
    out.push_back({column, found == known.end() ? "" : found->type, is_key, is_place ? name : origin.field,
                   is_place || (is_in_key && !from.transforms.key_field.empty()) ? "" : origin.expression});
  };
  for (const auto& name : keys) add(name, true);
  for (const auto& name : others) add(name, false);
  return out;
}

}  // namespace

base::Result<Columns> columns_of(const std::string& table, const ColumnSources& from) {
  Columns known;
  if (from.find) {
    const bool is_elsewhere = !from.search_path.empty() && table.find("\".\"") == std::string::npos;
    if (auto found = from.find(is_elsewhere ? quoted_name(from.search_path) + "." + table : table)) {
      known = *std::move(found);
    } else {
      from.remark("the database has no table " + table + " (in the search path): make it, and run this again");
    }
  }
  const auto is_kept = [&](const std::string& name) { return origin_of(from.transforms.of_value, name).has_value(); };
  auto keys = from.keys, others = from.others;
  for (const auto& column : known) {
    if (from.keys.empty() && from.key_source != KeySource::none && column.is_key) keys.push_back(column.name);
  }
  const auto is_key = [&](const std::string& name) { return std::count(keys.begin(), keys.end(), name) > 0; };
  for (const auto& column : known) {
    if (from.others.empty() && !is_key(column.name)) others.push_back(column.name);
  }
  std::erase_if(others, [&](const std::string& name) { return is_key(name) || !is_kept(name); });
  if (!known.empty()) remark_missing(table, from, keys, others, known);
  const bool lacks_keys = keys.empty() && from.key_source != KeySource::none;
  const bool lacks_others = others.empty() && from.others.empty() && known.empty();
  if (lacks_keys) keys = {"KEY_COLUMN"};
  if (lacks_others) {
    for (const auto& name : given_names(from.transforms.of_value)) {
      if (!is_key(name)) others.push_back(name);
    }
    others.insert(others.end(), {"COLUMN_1", "COLUMN_2"});
  }
  if (lacks_keys || lacks_others) {
    from.remark("the connector finds the columns of " + table + " in the records' schema. Replace " +
                (lacks_keys ? std::string{"KEY_COLUMN and "} : std::string{}) +
                "COLUMN_1, COLUMN_2 in the statement by the names of the columns, or run this again with --database "
                "URL, which reads them from the table");
  }
  if (from.mode == InsertMode::update && others.empty()) {
    return base::Problem{"insert.mode update of " + table + ": there is no column besides the primary key"};
  }
  return described(from, keys, others, known);
}

}  // namespace inboxd::cli
