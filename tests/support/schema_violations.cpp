#include "support/schema_violations.hpp"

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>

namespace inboxd::support {
namespace {

using nlohmann::json;

bool is_of_type(const json& value, const std::string& type) {
  if (type == "number") return value.is_number();
  if (type == "integer") return value.is_number_integer();
  const std::string name = value.type_name();
  return name == type;
}

bool is_of_format(const std::string& text, const std::string& format) {
  static const std::regex time{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))"};
  static const std::regex uuid{R"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"};
  if (format != "uuid" && format != "date-time") throw std::logic_error{"misfits() does not know the format " + format};
  return std::regex_match(text, format == "uuid" ? uuid : time);
}

class SchemaCheck {
 public:
  explicit SchemaCheck(const json& root) : root_{root} {}

  std::vector<std::string> out;

  void at(const json& value, const json& schema, const std::string& place) {
    check_keywords(schema);
    if (schema.contains("$ref")) {
      return at(value, root_.at(json::json_pointer{schema.at("$ref").get<std::string>().substr(1)}), place);
    }
    if (schema.contains("anyOf")) return at_any(value, schema.at("anyOf"), place);
    if (schema.size() == 1 && schema.contains("description")) return;  // anything
    const std::string type = schema.at("type");
    if (!is_of_type(value, type)) {
      out.push_back(place + ": is " + value.type_name() + ", not " + type);
      return;
    }
    if (schema.contains("enum") && schema.at("enum").dump().find(value.dump()) == std::string::npos)
      out.push_back(place + ": " + value.dump() + " is none of " + schema.at("enum").dump());
    if (schema.contains("format") && !is_of_format(value, schema.at("format")))
      out.push_back(place + ": " + value.dump() + " is no " + schema.at("format").get<std::string>());
    if (type == "array") {
      for (std::size_t i = 0; i < value.size(); ++i)
        at(value.at(i), schema.at("items"), place + "/" + std::to_string(i));
    }
    if (type == "object") fields(value, schema, place);
  }

 private:
  static void check_keywords(const json& schema) {
    static const std::set<std::string> known{
        "$ref",       "anyOf", "type", "enum", "format", "items", "required", "properties", "additionalProperties",
        "description"};
    for (const auto& [keyword, value] : schema.items()) {
      if (known.count(keyword) == 0) throw std::logic_error{"misfits() does not know the keyword " + keyword};
    }
  }

  void at_any(const json& value, const json& schemas, const std::string& place) {
    SchemaCheck first{root_};
    for (const json& schema : schemas) {
      SchemaCheck look{root_};
      look.at(value, schema, place);
      if (look.out.empty()) return;
      if (first.out.empty()) first.out = look.out;
    }
    out.insert(out.end(), first.out.begin(), first.out.end());
  }

  void fields(const json& value, const json& schema, const std::string& place) {
    const json properties = schema.value("properties", json::object());
    for (const std::string name : schema.value("required", json::array())) {
      if (!value.contains(name)) out.push_back(place + "/" + name + ": is missing");
    }
    for (const auto& [name, field] : value.items()) {
      const std::string where = place + "/" + name;
      if (properties.contains(name)) {
        at(field, properties.at(name), where);
      } else if (schema.contains("additionalProperties")) {
        at(field, schema.at("additionalProperties"), where);
      } else {
        out.push_back(where + ": the schema does not name it");
      }
    }
  }

  const json& root_;
};

}  // namespace

std::vector<std::string> schema_violations(const json& value, const json& schema, const json& root) {
  SchemaCheck look{root};
  look.at(value, schema, "");
  return look.out;
}

}  // namespace inboxd::support
