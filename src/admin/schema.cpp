#include "admin/schema.hpp"

#include <utility>

namespace inboxd::admin::schema {
namespace {

Document typed(const char* type, const std::string& about) {
  Document out{{"type", type}};
  if (!about.empty()) out["description"] = about;
  return out;
}

Document formatted(const char* format, const std::string& about) {
  Document out = typed("string", about);
  out["format"] = format;
  return out;
}

}  // namespace

Document text(const std::string& about) { return typed("string", about); }
Document integer(const std::string& about) { return typed("integer", about); }
Document number(const std::string& about) { return typed("number", about); }
Document flag(const std::string& about) { return typed("boolean", about); }
Document time(const std::string& about) { return formatted("date-time", about); }
Document uuid(const std::string& about) { return formatted("uuid", about); }

Document bytes() { return reference("Bytes"); }

Document word(std::initializer_list<const char*> words) {
  Document out{{"type", "string"}, {"enum", Document::array()}};
  for (const char* const word : words) out["enum"].push_back(word);
  return out;
}

Document list(Document items) { return {{"type", "array"}, {"items", std::move(items)}}; }

Document anything(const std::string& about) { return {{"description", about}}; }

Document map(Document values) { return {{"type", "object"}, {"additionalProperties", std::move(values)}}; }

Document reference(const std::string& component) { return {{"$ref", "#/components/schemas/" + component}}; }

Document or_null(Document schema) { return any_of({std::move(schema), {{"type", "null"}}}); }

Document any_of(std::initializer_list<Document> schemas) {
  Document out{{"anyOf", Document::array()}};
  for (const Document& schema : schemas) out["anyOf"].push_back(schema);
  return out;
}

Document object(std::initializer_list<Field> fields) {
  return extended({{"type", "object"}, {"required", Document::array()}, {"properties", Document::object()}}, fields);
}

Document extended(Document object, std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    object["properties"][field.name] = field.schema;
    if (field.is_always) object["required"].push_back(field.name);
  }
  return object;
}

}  // namespace inboxd::admin::schema
