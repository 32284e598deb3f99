#include "operations/documents.hpp"

#include <utility>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "config/units.hpp"
#include "event/headers.hpp"

namespace inboxd::operations {
namespace {

Document bytes_of_view(const event::MaybeBytes& bytes) {
  if (!bytes) return nullptr;
  if (base::is_utf8(*bytes)) return std::string{*bytes};
  return {{"base64", base::base64(*bytes)}};
}

}  // namespace

Document time_of(event::Microseconds time) { return config::time_text(time); }

Document time_of(const std::optional<event::Microseconds>& time) { return time ? time_of(*time) : Document(nullptr); }

Document bytes_of(const std::optional<std::string>& bytes) {
  return bytes ? bytes_of_view(std::string_view{*bytes}) : Document(nullptr);
}

Document text_of(const std::optional<std::string>& text) { return text ? Document(*text) : Document(nullptr); }

Document seconds_of(const std::optional<std::chrono::microseconds>& duration) {
  if (!duration) return nullptr;
  return static_cast<double>(duration->count()) / 1e6;
}

void put_count(Document& into, const std::string& key, const Count& count) {
  into[key] = count.number;
  if (count.at_least) into["at_least_" + key] = true;
}

Document range_of(const event::OffsetRange& range) { return {{"from", range.first}, {"to", range.end}}; }

Document headers_of(const std::optional<std::string>& packed) {
  Document out = Document::array();
  if (!packed) return out;
  for (const event::Header& header : event::unpack_headers(*packed)) {
    out.push_back({{"name", bytes_of_view(header.name)}, {"value", bytes_of_view(header.value)}});
  }
  return out;
}

Document worker_of(const std::optional<Worker>& worker) {
  if (!worker) return nullptr;
  return {{"host", worker->host}, {"process_id", worker->process_id}};
}

}  // namespace inboxd::operations

namespace inboxd::operations::schema {
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

Document with_count(Document object, const std::string& name, const std::string& about) {
  return extended(std::move(object),
                  {{name, integer(about)}, {"at_least_" + name, flag("counting stopped at a limit"), false}});
}

}  // namespace inboxd::operations::schema
