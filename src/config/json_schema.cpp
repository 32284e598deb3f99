#include <nlohmann/json.hpp>

#include "config/reference.hpp"
#include "config/settings_table.hpp"
#include "config/show.hpp"

namespace inboxd::config {
namespace {

using Json = nlohmann::ordered_json;

Json any_of(Json first, Json second) { return {{"anyOf", Json::array({std::move(first), std::move(second)})}}; }

/// A value, or a text with a variable in it.
Json or_variable(Json value) { return any_of(std::move(value), {{"$ref", "#/$defs/variable"}}); }

Json text_of(const Description& about) {
  Json out{{"type", "string"}};
  if (!about.pattern.empty()) out["pattern"] = about.pattern;
  return about.pattern.empty() ? out : or_variable(std::move(out));
}

Json ranged(const char* type, const Description& about) {
  return or_variable({{"type", type}, {"minimum", about.least}, {"maximum", about.most}});
}

Json type_of(const Description& about) {
  switch (about.type) {
    case Type::text:
      return text_of(about);
    case Type::flag:
      return or_variable({{"type", "boolean"}});
    case Type::number:
      return ranged("integer", about);
    case Type::fraction:
      return ranged("number", about);
    case Type::duration:
      return {{"$ref", "#/$defs/duration"}};
    case Type::keep:
      return any_of({{"const", "forever"}}, {{"$ref", "#/$defs/duration"}});
    case Type::size:
      return {{"$ref", "#/$defs/size"}};
    case Type::start:
      return any_of({{"enum", about.choices}}, {{"$ref", "#/$defs/time"}});
    case Type::choice:
      return or_variable({{"enum", about.choices}});
    case Type::secret:
      return {{"$ref", "#/$defs/secret"}};
    case Type::secrets:
      return any_of({{"$ref", "#/$defs/secret"}},
                    {{"type", "array"}, {"minItems", 1}, {"items", {{"$ref", "#/$defs/secret"}}}});
    case Type::texts:
      return {{"type", "array"}, {"uniqueItems", true}, {"items", text_of(about)}};
    case Type::rules:
      return {{"type", "array"},
              {"items",
               {{"type", "object"},
                {"required", Json::array({"error", "then"})},
                {"additionalProperties", false},
                {"properties",
                 {{"error", {{"type", "string"}, {"minLength", 1}}},
                  {"then", {{"enum", Json::array({"retry", "dead", "pause"})}}}}}}}};
    case Type::properties:
      return {{"type", Json::array({"object", "null"})}, {"additionalProperties", {{"$ref", "#/$defs/property"}}}};
    case Type::plugin_settings:
      return {{"type", Json::array({"object", "null"})}};
  }
  return {};
}

Json described(const Description& about, const nlohmann::json& default_value) {
  Json out{{"description", about.help}};
  out.update(type_of(about));
  if (!default_value.is_null() && about.type != Type::secret) out["default"] = default_value;
  return out;
}

Json group_of_keys() {
  return {{"type", Json::array({"object", "null"})}, {"additionalProperties", false}, {"properties", Json::object()}};
}

/// Puts a dotted key into nested groups.
void place(Json& root, const std::string& key, Json value, bool is_required) {
  Json* group = &root;
  std::size_t begin = 0;
  for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', begin)) {
    const std::string name = key.substr(begin, dot - begin);
    if (is_required) (*group)["type"] = "object";
    Json& below = (*group)["properties"][name];
    if (below.is_null()) below = group_of_keys();
    group = &below;
    begin = dot + 1;
  }
  const std::string name = key.substr(begin);
  (*group)["properties"][name] = std::move(value);
  if (is_required) {
    (*group)["type"] = "object";
    (*group)["required"].push_back(name);
  }
}

template <class Owner>
Json object_of(const std::vector<Row<Owner>>& rows) {
  const Owner defaults{};
  Json out = group_of_keys();
  for (const Row<Owner>& row : rows) {
    place(out, row.about.key, described(row.about, json_written(row.about, row.get(defaults))), row.about.is_required);
  }
  return out;
}

Json list_of(const std::string& description, Json item) {
  return {{"description", description}, {"type", "array"}, {"minItems", 1}, {"items", std::move(item)}};
}

Json definitions() {
  const auto pattern = [](const char* text) { return Json{{"type", "string"}, {"pattern", text}}; };
  const Json text{{"type", "string"}};
  const auto one_key = [&](const char* name) {
    return Json{{"type", "object"},
                {"properties", {{name, text}}},
                {"required", Json::array({name})},
                {"additionalProperties", false}};
  };
  const Json secret{{"description", "{file: /path}, {credential: name} or {env: NAME}; a literal works with a warning"},
                    {"anyOf", Json::array({one_key("file"), one_key("credential"), one_key("env"), text})}};
  return {{"variable", pattern("\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}")},
          {"duration", or_variable(pattern("^[0-9]+(ms|s|m|h|d)$"))},
          {"size", or_variable(pattern("^[0-9]+(B|KiB|MiB|GiB)$"))},
          {"time", or_variable(pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]{8,}([Zz]|[+-][0-9]{2}:[0-9]{2})$"))},
          {"secret", secret},
          {"property", any_of({{"type", Json::array({"string", "number", "boolean"})}}, {{"$ref", "#/$defs/secret"}})}};
}

}  // namespace

std::string schema() {
  const Table table = settings_table();
  Json keys = object_of(table.settings);
  Json topic = object_of(table.topics);
  topic["type"] = "object";
  topic["oneOf"] = Json::array({{{"required", Json::array({"name"})}}, {{"required", Json::array({"pattern"})}}});
  Json handler = object_of(table.handlers);
  handler["required"].push_back("subscribe");
  for (const Group& group : table.groups) {
    Json& entry = keys["properties"][group.name];
    if (group.name == "topics") {
      entry = list_of(group.help, topic);
    } else if (group.name == "handlers") {
      entry = list_of(group.help, handler);
    } else if (group.name == "handler_defaults") {
      entry = object_of(table.handler_defaults());
      entry["description"] = group.help;
    } else {
      entry["description"] = group.help;
    }
  }
  keys["type"] = "object";
  keys["required"] = Json::array({"database", "topics", "handlers"});
  const Json local{{"required", Json::array({"source"})}, {"properties", {{"source", {{"const", "local"}}}}}};
  keys["anyOf"] =
      Json::array({{{"required", Json::array({"kafka"})}}, {{"properties", {{"topics", {{"items", local}}}}}}});
  Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "inboxd configuration"}};
  out.update(keys);
  out["$defs"] = definitions();
  return out.dump(2) + "\n";
}

}  // namespace inboxd::config
