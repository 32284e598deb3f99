#include "cli/connector_transforms.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "cli/upsert_statement.hpp"

namespace inboxd::cli {
namespace {

/// The class without its package, such as ReplaceField$Value.
std::string short_name(const std::string& type) { return type.substr(type.rfind('.') + 1); }

/// Reads the transforms in their order.
class Reader final {
 public:
  explicit Reader(Connector& connector) : connector_{connector} {}

  Transforms run() {
    for (const auto& name : items_of(connector_.take("transforms").value_or(""))) {
      prefix_ = "transforms." + name + ".";
      type_ = connector_.take(prefix_ + "type").value_or("");
      label_ = "transforms." + name + " (" + base::shorten(type_, 100) + ")";
      read();
      const bool renames_topics = !out_.routers.empty() && out_.routers.back() == prefix_;
      if (!renames_topics) connector_.take_all(prefix_);
    }
    connector_.take_all("predicates");
    return std::move(out_);
  }

 private:
  std::optional<std::string> take(const char* key) { return connector_.take(prefix_ + key); }
  std::vector<std::string> names(const char* key, const char* old_key) {
    auto out = items_of(take(key).value_or(""));
    return out.empty() ? items_of(take(old_key).value_or("")) : out;
  }
  void todo(const std::string& sentence) {
    std::string text = label_ + " " + sentence + ", then delete this line";
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    out_.todo.push_back(std::move(text));
  }

  void read() {
    const std::string type = short_name(type_);
    const auto predicate = take("predicate");
    if (type == "Filter") return read_filter(predicate.value_or(""));
    if (predicate) todo("holds for some records only, those of its predicate " + base::shorten(*predicate, 100) +
                        ": see that the statement treats the others as the connector does");
    if (type == "ExtractNewRecordState") read_unwrap();
    else if (type == "TombstoneHandler") out_.drops_tombstones = true;
    else if (type == "RegexRouter" || type == "ByLogicalTableRouter") out_.routers.push_back(prefix_);
    else if (type == "ReplaceField$Value") read_replaced(out_.of_value);
    else if (type == "ReplaceField$Key") read_replaced(out_.of_key);
    else if (type == "InsertField$Value") read_inserted(out_.of_value);
    else if (type == "InsertField$Key") read_inserted(out_.of_key);
    else if (type == "ExtractField$Key" && out_.key_field.empty()) read_extracted();
    else if (!changes_no_rows(type)) todo(remedy_for(type));
  }

  /// Transforms of headers and of the names of schemas.
  static bool changes_no_rows(const std::string& type) {
    constexpr std::array<std::string_view, 4> types{"InsertHeader", "DropHeaders", "SetSchemaMetadata$Value",
                                                    "SetSchemaMetadata$Key"};
    return std::find(types.begin(), types.end(), type) != types.end();
  }

  static std::string remedy_for(const std::string& type) {
    if (type.starts_with("Cast$")) {
      return "is not translated: the statement gives each value the type of its column; write another conversion into "
             "the statement, if you need one";
    }
    if (type.starts_with("TimestampConverter$")) {
      return "is not translated: the statement converts milliseconds in columns of times; write another conversion "
             "into the statement, if you need one";
    }
    if (type.ends_with("Router")) {
      return "is not translated: it renames topics, and so tables; correct the statement's table";
    }
    if (type.starts_with("Filter$")) {
      return "drops records and is not translated: write its condition into the statement's `where`";
    }
    if (type.starts_with("ValueToKey")) {
      return "is not translated: let the statement read the key's columns from e.body, in place of k.v";
    }
    return "is not translated: write its effect into the statement, where the values are read";
  }

  void read_filter(const std::string& predicate) {
    const std::string type = connector_.take("predicates." + predicate + ".type").value_or("");
    const bool is_negated = connector_.take_flag(prefix_ + "negate");
    if (type.ends_with(".RecordIsTombstone") && !is_negated) {
      out_.drops_tombstones = true;
      return;
    }
    todo("drops records by predicate " + base::json_quote(base::shorten(predicate, 100)) + " (" +
         base::shorten(type, 100) + ") and is not translated: write the condition into the statement's `where`");
  }

  void read_unwrap() {
    if (!out_.of_value.empty()) todo("follows a transform of fields: correct the fields that the statement reads");
    out_.unwraps = true;
    for (const char* const key : {"delete.handling.mode", "delete.tombstone.handling.mode"}) {
      if (!take(key).value_or("").starts_with("rewrite")) continue;
      todo("writes deleted rows with __deleted (rewrite), which is not translated: write it into the statement");
    }
    FieldChange change;
    const std::string prefix = take("add.fields.prefix").value_or("__");
    for (const auto& item : items_of(take("add.fields").value_or(""))) {
      const std::string path = item.substr(0, item.find(':'));
      std::string name = item.substr(std::min(item.find(':') + 1, item.size()));
      std::string expression = "e.body";
      for (std::size_t at = 0; at <= path.size();) {
        const auto dot = std::min(path.find('.', at), path.size());
        expression += "->" + quoted_text(path.substr(at, dot - at));
        at = dot + 1;
      }
      std::replace(name.begin(), name.end(), '.', '_');
      change.added[prefix + name] = expression;
    }
    if (!change.added.empty()) out_.of_value.push_back(std::move(change));
  }

  void read_replaced(FieldChanges& changes) {
    check_fields();
    FieldChange change;
    for (const auto& name : names("include", "whitelist")) change.included.insert(name);
    for (const auto& name : names("exclude", "blacklist")) change.excluded.insert(name);
    for (const auto& pair : items_of(take("renames").value_or(""))) {
      const auto colon = std::min(pair.find(':'), pair.size());
      if (colon < pair.size()) change.renames[pair.substr(colon + 1)] = pair.substr(0, colon);
    }
    changes.push_back(std::move(change));
  }

  void read_inserted(FieldChanges& changes) {
    check_fields();
    FieldChange change;
    const auto add = [&](const char* key, const std::string& expression) {
      auto name = take(key);
      if (!name) return;
      if (name->ends_with('!') || name->ends_with('?')) name->pop_back();
      change.added[*name] = expression;
    };
    add("topic.field", "e.topic");
    add("partition.field", "e.partition");
    add("offset.field", "e.\"offset\"");
    add("timestamp.field", moment_of_event);
    add("static.field", quoted_text(take("static.value").value_or("")) + "::text");
    changes.push_back(std::move(change));
  }

  /// Debezium's own connector gives its transforms the whole change event.
  void check_fields() {
    if (connector_.is_debezium() && !out_.unwraps) {
      todo("changes fields of a change event, not of its row: see which fields the statement has to read");
    }
  }

  void read_extracted() {
    const auto field = take("field").value_or("");
    const auto origin = origin_of(out_.of_key, field);
    if (origin && origin->expression.empty()) out_.key_field = origin->field;
    else todo("extracts a field that another transform makes: write it into the statement in place of k.v");
  }

  Connector& connector_;
  Transforms out_;
  std::string prefix_, type_, label_;
};

}  // namespace

std::optional<FieldOrigin> origin_of(const FieldChanges& changes, std::string field) {
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const auto added = change->added.find(field);
    if (added != change->added.end()) return FieldOrigin{"", added->second};
    const auto renamed = change->renames.find(field);
    const bool is_gone = std::any_of(change->renames.begin(), change->renames.end(),
                                     [&](const auto& rename) { return rename.second == field; });
    if (renamed != change->renames.end()) field = renamed->second;
    else if (is_gone) return std::nullopt;
    if (change->excluded.contains(field)) return std::nullopt;
    if (!change->included.empty() && !change->included.contains(field)) return std::nullopt;
  }
  return FieldOrigin{std::move(field)};
}

std::vector<std::string> given_names(const FieldChanges& changes) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    const auto origin = origin_of(changes, name);
    const bool is_new = std::find(out.begin(), out.end(), name) == out.end();
    if (origin && origin->field != name && is_new) out.push_back(name);
  };
  for (const auto& change : changes) {
    for (const auto& [name, old_name] : change.renames) add(name);
    for (const auto& [name, expression] : change.added) add(name);
  }
  return out;
}

Transforms read_transforms(Connector& connector) { return Reader{connector}.run(); }

}  // namespace inboxd::cli
