#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/connector.hpp"

namespace inboxd::cli {

/// Where a field of a transformed record comes from: a field of the record in Kafka, or an SQL expression.
struct FieldOrigin {
  std::string field = {};
  std::string expression = {};  ///< set: in place of the field
};

/// A transform that renames, drops or adds fields. It drops before it renames.
struct FieldChange {
  std::map<std::string, std::string> renames = {};  ///< old names by new name
  std::set<std::string> included = {};              ///< empty: all
  std::set<std::string> excluded = {};
  std::map<std::string, std::string> added = {};    ///< SQL expressions by name
};

/// Transforms one after the other.
using FieldChanges = std::vector<FieldChange>;

/// The origin of a field after all changes; nullopt: they drop the field.
std::optional<FieldOrigin> origin_of(const FieldChanges& changes, std::string field);
/// Names that changes give to fields and that the record still has at the end.
std::vector<std::string> given_names(const FieldChanges& changes);

/// A connector's transforms.
struct Transforms {
  bool unwraps = false;              ///< rows are in `after` of Debezium's change events
  bool drops_tombstones = false;
  std::vector<std::string> routers;  ///< prefixes of the settings of transforms that rename topics
  FieldChanges of_value, of_key;
  std::string key_field;             ///< the key is this field of the record's key
  /// For each transform that is not translated, a sentence that names it and the remedy.
  std::vector<std::string> todo;
};

/// Takes the settings of all transforms and predicates.
Transforms read_transforms(Connector& connector);

}  // namespace inboxd::cli
