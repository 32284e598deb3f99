#include "formats/avro_schema.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace inboxd::formats {
namespace {

using Json = nlohmann::ordered_json;
using Kind = AvroType::Kind;
using Logical = AvroType::Logical;

/// A decimal has at most so many digits after its point.
constexpr std::size_t max_scale = 1'000;
/// The bytes of a fixed type.
constexpr std::int64_t max_fixed = 64 << 20;

/// Ends the reading of a schema; the text is the problem.
struct Mistake {
  std::string text;
};

std::optional<Kind> primitive(std::string_view name) {
  constexpr std::pair<std::string_view, Kind> kinds[] = {
      {"null", Kind::null_value}, {"boolean", Kind::boolean}, {"int", Kind::int32},   {"long", Kind::int64},
      {"float", Kind::float32},   {"double", Kind::float64},  {"bytes", Kind::bytes}, {"string", Kind::string}};
  for (const auto& [text, kind] : kinds) {
    if (text == name) return kind;
  }
  return std::nullopt;
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// A whole number from 0; nullopt: none, or too large.
std::optional<std::int64_t> number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto number = found->get<std::uint64_t>();
  return number > static_cast<std::uint64_t>(max_fixed) ? std::nullopt
                                                        : std::optional{static_cast<std::int64_t>(number)};
}

/// The logical type, if it fits the type. Others have no meaning, as the specification says.
Logical logical_of(const AvroType& type, const Json& object) {
  struct Row {
    std::string_view name;
    Kind kind;
    Logical logical;
  };
  constexpr Row rows[] = {{"date", Kind::int32, Logical::date},
                          {"time-millis", Kind::int32, Logical::time_millis},
                          {"time-micros", Kind::int64, Logical::time_micros},
                          {"timestamp-millis", Kind::int64, Logical::timestamp_millis},
                          {"timestamp-micros", Kind::int64, Logical::timestamp_micros},
                          {"timestamp-nanos", Kind::int64, Logical::timestamp_nanos},
                          {"local-timestamp-millis", Kind::int64, Logical::local_millis},
                          {"local-timestamp-micros", Kind::int64, Logical::local_micros},
                          {"local-timestamp-nanos", Kind::int64, Logical::local_nanos},
                          {"decimal", Kind::bytes, Logical::decimal},
                          {"decimal", Kind::fixed, Logical::decimal},
                          {"uuid", Kind::fixed, Logical::uuid},
                          {"duration", Kind::fixed, Logical::duration}};
  const std::string name = text_at(object, "logicalType");
  for (const Row& row : rows) {
    if (row.name != name || row.kind != type.kind) continue;
    if (row.logical == Logical::uuid && type.size != 16) continue;
    if (row.logical == Logical::duration && type.size != 12) continue;
    return row.logical;
  }
  return Logical::none;
}

class Parser final {
 public:
  /// Returns the index of the text's type.
  std::size_t parse(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) throw Mistake{"is not JSON"};
    return read(json, "", 0);
  }

  AvroSchema take(std::size_t root) { return {std::move(types_), root}; }

 private:
  std::size_t add(Kind kind, std::string_view name) {
    if (types_.size() == max_avro_types) {
      throw Mistake{"has more than " + std::to_string(max_avro_types) + " types"};
    }
    AvroType type;
    type.kind = kind;
    type.name = base::json_quote(name) + ":";
    types_.push_back(std::move(type));
    return types_.size() - 1;
  }

  std::size_t read(const Json& json, const std::string& space, int depth) {
    if (depth > max_avro_depth) throw Mistake{"is nested more than " + std::to_string(max_avro_depth) + " deep"};
    if (json.is_string()) return named(json.get<std::string>(), space);
    if (json.is_array()) return read_choice(json, space, depth);
    if (!json.is_object() || !json.contains("type")) throw Mistake{"has a type that is neither a name nor an object"};
    const Json& type = json["type"];
    if (!type.is_string()) return read(type, space, depth + 1);
    return read_object(json, type.get<std::string>(), space, depth);
  }

  std::size_t named(const std::string& name, const std::string& space) {
    if (const auto kind = primitive(name)) return add(*kind, name);
    const auto inside = space.empty() ? names_.end() : names_.find(space + "." + name);
    if (name.find('.') == name.npos && inside != names_.end()) return inside->second;
    const auto found = names_.find(name);
    if (found == names_.end()) {
      throw Mistake{"names the type " + base::escape_controls(base::shorten(name, 100)) + ", which it does not define"};
    }
    return found->second;
  }

  std::size_t read_choice(const Json& json, const std::string& space, int depth) {
    const std::size_t index = add(Kind::choice, "union");
    std::vector<std::size_t> branches;
    for (const Json& branch : json) branches.push_back(read(branch, space, depth + 1));
    if (branches.empty()) throw Mistake{"has a union without a branch"};
    types_[index].inner = std::move(branches);
    return index;
  }

  std::size_t read_object(const Json& json, const std::string& type, const std::string& space, int depth) {
    if (type == "record" || type == "error") return read_record(json, space, depth);
    if (type == "enum") return read_enumeration(json, space);
    if (type == "fixed") return read_fixed(json, space);
    if (type == "array" || type == "map") return read_container(json, type, space, depth);
    const std::size_t index = named(type, space);
    if (primitive(type)) note_logical(index, json);
    return index;
  }

  void note_logical(std::size_t index, const Json& json) {
    types_[index].logical = logical_of(types_[index], json);
    if (types_[index].logical != Logical::decimal) return;
    const auto scale = number_at(json, "scale").value_or(json.contains("scale") ? -1 : 0);
    if (scale < 0 || static_cast<std::size_t>(scale) > max_scale) types_[index].logical = Logical::none;
    else types_[index].scale = static_cast<std::size_t>(scale);
  }

  /// Adds a type with a name of its own. `inner` becomes the name space of the types inside.
  std::size_t define(Kind kind, const Json& json, const std::string& space, std::string* inner = nullptr) {
    std::string name = text_at(json, "name");
    if (name.empty()) throw Mistake{"has a record, enum or fixed type without a name"};
    const std::string own = json.contains("namespace") ? text_at(json, "namespace") : space;
    if (name.find('.') == name.npos && !own.empty()) name = own + "." + name;
    if (inner != nullptr) *inner = name.find('.') == name.npos ? std::string{} : name.substr(0, name.rfind('.'));
    const std::size_t index = add(kind, name);
    if (!names_.emplace(name, index).second) {
      throw Mistake{"defines " + base::escape_controls(base::shorten(name, 100)) + " twice"};
    }
    return index;
  }

  std::size_t read_record(const Json& json, const std::string& space, int depth) {
    std::string inside;
    const std::size_t index = define(Kind::record, json, space, &inside);
    const auto fields = json.find("fields");
    if (fields == json.end() || !fields->is_array()) throw Mistake{"has a record without fields"};
    std::vector<AvroType::Field> out;
    for (const Json& field : *fields) {
      if (!field.is_object() || text_at(field, "name").empty() || !field.contains("type")) {
        throw Mistake{"has a field without a name or a type"};
      }
      out.push_back({base::json_quote(text_at(field, "name")) + ":", read(field["type"], inside, depth + 1)});
    }
    types_[index].fields = std::move(out);
    return index;
  }

  std::size_t read_enumeration(const Json& json, const std::string& space) {
    const std::size_t index = define(Kind::enumeration, json, space);
    const auto symbols = json.find("symbols");
    if (symbols == json.end() || !symbols->is_array()) throw Mistake{"has an enum without symbols"};
    for (const Json& symbol : *symbols) {
      if (!symbol.is_string()) throw Mistake{"has a symbol that is no string"};
      types_[index].symbols.push_back(base::json_quote(symbol.get<std::string>()));
    }
    return index;
  }

  std::size_t read_fixed(const Json& json, const std::string& space) {
    const auto size = number_at(json, "size");
    if (!size) throw Mistake{"has a fixed type without a size from 0 to " + std::to_string(max_fixed)};
    const std::size_t index = define(Kind::fixed, json, space);
    types_[index].size = static_cast<std::size_t>(*size);
    note_logical(index, json);
    return index;
  }

  std::size_t read_container(const Json& json, const std::string& type, const std::string& space, int depth) {
    const bool is_array = type == "array";
    const auto inner = json.find(is_array ? "items" : "values");
    if (inner == json.end()) throw Mistake{"has an " + type + " without the type of its content"};
    const std::size_t index = add(is_array ? Kind::array : Kind::map, type);
    const std::size_t content = read(*inner, space, depth + 1);
    types_[index].inner = {content};
    return index;
  }

  std::vector<AvroType> types_;
  std::map<std::string, std::size_t> names_;
};

}  // namespace

base::Result<AvroSchema> parse_avro(std::string_view text, std::span<const std::string> references) {
  try {
    Parser parser;
    for (const std::string& reference : references) parser.parse(reference);
    return parser.take(parser.parse(text));
  } catch (const Mistake& mistake) {
    return base::Problem{mistake.text};
  }
}

}  // namespace inboxd::formats
