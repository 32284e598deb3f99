#include "formats/topic_decoder.hpp"

#include "base/text.hpp"
#include "event/json_text.hpp"
#include "formats/avro_reader.hpp"
#include "formats/json_pieces.hpp"
#include "formats/protobuf_reader.hpp"

namespace inboxd::formats {
namespace {

/// The memory that a thread keeps for the next record.
constexpr std::size_t kept_bytes = 2 << 20;

std::string named(const SchemaId& id, const Schema* schema) {
  std::string out = "schema " + id.text();
  if (schema != nullptr && !schema->subject.empty()) {
    out += " (subject " + base::escape_controls(base::shorten(schema->subject, 100)) + ")";
  }
  return out;
}

/// A string that a format without a schema makes of bytes.
std::string problem_of_text(const config::Format& format, std::string_view bytes, std::string& json) {
  json.clear();
  if (format.kind == config::FormatKind::bytes) {
    append_base64(json, bytes);
  } else if (base::is_utf8(bytes)) {
    base::append_json_quoted(json, bytes);
  } else {
    return "it is not UTF-8 text";
  }
  if (json.size() <= format.max_decoded) return {};
  return "its JSON has more than " + std::to_string(format.max_decoded) + " bytes";
}

/// With the message that the bytes name, or that of schema_file.
std::string read_message(const ProtobufSchema& schema, const config::Format& format, NamedSchema found,
                         std::string& json) {
  const auto* type = schema.message();
  if (type == nullptr) {
    std::vector<int> indexes;
    if (!take_message_indexes(found.header ? *found.header : found.data, indexes)) {
      return "it names no message of the schema";
    }
    type = schema.find(indexes);
  }
  if (type == nullptr) return "the schema has no message at its indexes";
  return read_protobuf(schema, *type, found.data, format.json, format.max_decoded, json);
}

std::string read_value(const Schema& schema, const config::Format& format, const NamedSchema& found,
                       std::string& json) {
  const bool wants_avro = format.kind == config::FormatKind::avro;
  if (const auto* const avro = std::get_if<AvroSchema>(&schema.types); avro != nullptr && wants_avro) {
    return read_avro(*avro, found.data, format.json, format.max_decoded, json);
  }
  if (const auto* const protobuf = std::get_if<ProtobufSchema>(&schema.types); protobuf != nullptr && !wants_avro) {
    return read_message(*protobuf, format, found, json);
  }
  return std::string{"the schema is of "} + (wants_avro ? "Protobuf" : "Avro") + ", the topic's format is not";
}

}  // namespace

DecodedRecord TopicDecoder::decode(const event::Record& record, base::Arena& arena) const {
  DecodedRecord out;
  if (decode(value_, "value", value_headers, record.payload, record.headers, arena, out.value, out)) {
    decode(key_, "key", key_headers, record.key, record.headers, arena, out.key, out);
  }
  return out;
}

bool TopicDecoder::decode(const Part& part, std::string_view name, const SchemaHeaders& names, event::MaybeBytes bytes,
                          const std::vector<event::Header>& headers, base::Arena& arena, event::MaybeBytes& out,
                          DecodedRecord& result) const {
  using Kind = config::FormatKind;
  if (part.format.kind == Kind::automatic || !bytes) return true;
  const std::string_view subject = name == "key" ? "the key" : "the value";
  const bool is_plain =
      part.format.kind == Kind::json || part.format.kind == Kind::text || part.format.kind == Kind::bytes;
  NamedSchema found{{}, *bytes, std::nullopt};
  if (std::string why; !is_plain && part.format.schema_file.empty()) {
    const auto named = find_schema(*bytes, headers, names, part.format.schema_id, why);
    if (!named) {
      result.misfit = std::string{subject} + " names no schema: " + why;
      return false;
    }
    found = *named;
  }
  if (part.format.kind == Kind::json || part.format.kind == Kind::json_schema) {
    return take_json(found.data, *bytes, subject, out, result);
  }
  thread_local std::string json;
  if (is_plain) {
    if (std::string why = problem_of_text(part.format, *bytes, json); !why.empty()) {
      result.misfit = std::string{subject} + " cannot be decoded: " + why;
    }
  } else {
    read_by_schema(part, found, subject, json, result);
  }
  if (result.is_usable()) out = arena.copy(json);
  if (json.capacity() > kept_bytes) std::string{}.swap(json);
  return result.is_usable();
}

bool TopicDecoder::take_json(std::string_view data, std::string_view all, std::string_view subject,
                             event::MaybeBytes& out, DecodedRecord& result) {
  const auto json = event::json_in(data);
  if (json.is_json() && data.size() != all.size()) out = data;
  if (!json.is_json()) result.misfit = std::string{subject} + " is not JSON: " + std::string{sentence_of(json.problem)};
  return json.is_json();
}

void TopicDecoder::read_by_schema(const Part& part, const NamedSchema& found, std::string_view subject,
                                  std::string& json, DecodedRecord& result) const {
  const bool has_file = !part.format.schema_file.empty();
  const SchemaAnswer answer = has_file ? part.file : part.registry->find(found.id, patience_);
  const auto name = [&](const Schema* schema) {
    return has_file ? "schema_file " + part.format.schema_file : named(found.id, schema);
  };
  if (!answer.waits.empty()) {
    result.waits = has_file ? answer.waits : name(nullptr) + " of " + std::string{subject} + ": " + answer.waits;
  } else if (answer.schema == nullptr) {
    result.misfit = name(nullptr) + " of " + std::string{subject} + " " + answer.misfit;
  } else if (std::string why = read_value(*answer.schema, part.format, found, json); !why.empty()) {
    result.misfit = std::string{subject} + " does not fit " + name(answer.schema.get()) + ": " + why;
  }
}

TopicDecoder::Part Decoders::part_of(const config::Format& format) {
  if (!format.schema_file.empty()) {
    auto schema = load_schema(format);
    if (!schema) return {format, nullptr, {nullptr, {}, schema.problem().message}};
    return {format, nullptr, {std::make_shared<const Schema>(std::move(schema).value()), {}, {}}};
  }
  if (format.registry.url.empty()) return {format, nullptr, {}};
  for (const auto& [settings, registry] : registries_) {
    if (settings == format.registry) return {format, registry, {}};
  }
  registries_.emplace_back(format.registry, std::make_shared<Registry>(format.registry));
  return {format, registries_.back().second, {}};
}

std::shared_ptr<const TopicDecoder> Decoders::of(const config::Topic& topic) {
  const bool has_none = topic.value.kind == config::FormatKind::automatic &&
                        topic.key.kind == config::FormatKind::automatic;
  if (has_none) return nullptr;
  const base::Lock lock{mutex_};
  return std::make_shared<const TopicDecoder>(part_of(topic.value), part_of(topic.key), patience_);
}

}  // namespace inboxd::formats
