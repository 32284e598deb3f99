#include "formats/protobuf_reader.hpp"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <span>
#include <vector>

#include "base/text.hpp"
#include "formats/avro_logical.hpp"
#include "formats/json_pieces.hpp"
#include "formats/protobuf_wire.hpp"

namespace inboxd::formats {
namespace {

namespace pb = google::protobuf;
using Descriptor = pb::Descriptor;
using Field = pb::FieldDescriptor;
using Known = Descriptor::WellKnownType;
using Fields = std::span<const WireField>;

constexpr int max_message_depth = 100;
/// Fields of types that are looked at, sent or not: two bytes can be a message of thousands.
constexpr std::size_t max_visits = 20'000'000;
/// Bytes of messages that were sent in parts, once for each level.
constexpr std::size_t max_merged = 16 << 20;

/// Zigzag: 0, -1, 1, -2, …
std::int64_t signed_of(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
}

/// Of a message whose fields are few and plain, such as Timestamp: a field's last number or bytes.
const WireField* last_of(Fields fields, int number) {
  const auto found = std::find_if(fields.rbegin(), fields.rend(),
                                  [&](const WireField& each) { return each.field->number() == number; });
  return found == fields.rend() ? nullptr : &*found;
}

/// `placed_at` as `placedAt`.
std::string camel_case(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_joint = name[i] == '_' && i + 1 < name.size() && name[i + 1] >= 'a' && name[i + 1] <= 'z';
    if (is_joint) ++i;
    out += is_joint ? static_cast<char>(name[i] - 'a' + 'A') : name[i];
  }
  return out;
}

class MessageReader final {
 public:
  MessageReader(const ProtobufSchema& schema, config::JsonForm form, std::size_t max_bytes, std::string& out)
      : schema_{schema}, is_plain_{form == config::JsonForm::plain}, max_bytes_{max_bytes}, out_{out} {}

  std::string read(const Descriptor& type, std::string_view bytes) {
    if (message(type, bytes, 0)) return {};
    return place_.empty() ? problem_ : "at " + place_ + ": " + problem_;
  }

 private:
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool fail_in(const Field& field) {
    if (place_.size() < 200) place_.insert(0, "/" + base::shorten(field.name(), 40));
    return false;
  }

  bool has_room() {
    return out_.size() <= max_bytes_ || fail("its JSON has more than " + std::to_string(max_bytes_) + " bytes");
  }

  // ---- messages ----

  bool message(const Descriptor& type, std::string_view bytes, int depth) {
    if (depth > max_message_depth) {
      return fail("it is nested more than " + std::to_string(max_message_depth) + " deep");
    }
    std::vector<WireField> fields;
    if (auto problem = wire_fields(type, bytes, fields); !problem.empty()) return fail(std::move(problem));
    switch (known_type_of(type)) {
      case Known::WELLKNOWNTYPE_TIMESTAMP: return timestamp(fields);
      case Known::WELLKNOWNTYPE_DURATION: return duration(fields);
      case Known::WELLKNOWNTYPE_ANY: return any(fields, depth);
      case Known::WELLKNOWNTYPE_STRUCT:
      case Known::WELLKNOWNTYPE_LISTVALUE: return content(*type.field(0), fields, depth);
      case Known::WELLKNOWNTYPE_VALUE: return value_of_struct(fields, depth);
      case Known::WELLKNOWNTYPE_FIELDMASK: return field_mask(fields);
      case Known::WELLKNOWNTYPE_UNSPECIFIED: break;
      default: return wrapped(*type.field(0), fields, depth);  // Int64Value and its like
    }
    out_ += '{';
    bool is_first = true;
    if (!members(type, fields, is_first, depth)) return false;
    out_ += '}';
    return true;
  }

  bool members(const Descriptor& type, Fields fields, bool& is_first, int depth) {
    visits_ += static_cast<std::size_t>(type.field_count());
    if (visits_ > max_visits) return fail("it has too many messages of types with many fields");
    std::size_t at = 0;
    for (int i = 0; i < type.field_count(); ++i) {
      const Field& field = *type.field(i);
      const std::size_t begin = at;
      while (at < fields.size() && fields[at].field == &field) ++at;
      if (begin == at && field.is_required()) return fail("the required field " + field.name() + " is missing");
      const bool is_written = begin != at || (is_plain_ && (field.is_repeated() || !field.has_presence()));
      if (!is_written || (!is_plain_ && is_default(field, fields.subspan(begin, at - begin)))) continue;
      if (!std::exchange(is_first, false)) out_ += ',';
      base::append_json_quoted(out_, is_plain_ ? field.name() : field.json_name());
      out_ += ':';
      if (!content(field, fields.subspan(begin, at - begin), depth)) return fail_in(field);
    }
    return true;
  }

  /// Whether Protobuf's JSON leaves a sent value out: only of fields that cannot tell 0 from nothing.
  static bool is_default(const Field& field, Fields sent) {
    if (field.is_repeated() || field.has_presence()) return false;
    const WireField& last = sent.back();
    return last.number == 0 && last.bytes.empty();
  }

  /// A field's values; an empty span: its default.
  bool content(const Field& field, Fields sent, int depth) {
    if (!has_room()) return false;
    if (field.is_map()) return map(field, sent, depth);
    if (field.is_repeated()) return list(field, sent, depth);
    if (field.message_type() == nullptr) {
      return scalar(field, sent.empty() ? WireField{&field, {}} : last_value(sent.back()));
    }
    if (sent.size() == 1) return message(*field.message_type(), sent[0].bytes, depth + 1);
    std::string merged;  // a message sent in parts is their sum
    for (const WireField& part : sent) merged += part.bytes;
    merged_ += merged.size();
    if (merged_ > max_merged) return fail("too much of it was sent in parts");
    return message(*field.message_type(), merged, depth + 1);
  }

  /// Of a single value that was sent as a packed list.
  static WireField last_value(WireField sent) {
    if (!sent.is_packed) return sent;
    while (!sent.bytes.empty() && take_packed(sent, sent.number)) {
    }
    return {sent.field, {}, sent.number};
  }

  bool list(const Field& field, Fields sent, int depth) {
    out_ += '[';
    bool is_first = true;
    for (WireField each : sent) {
      do {
        if (each.is_packed && each.bytes.empty()) break;
        if (each.is_packed && !take_packed(each, each.number)) return fail("the bytes end within a packed list");
        if (!std::exchange(is_first, false)) out_ += ',';
        if (!item(field, each, depth)) return false;
      } while (each.is_packed);
    }
    out_ += ']';
    return true;
  }

  bool item(const Field& field, const WireField& sent, int depth) {
    if (!has_room()) return false;
    if (field.message_type() != nullptr) return message(*field.message_type(), sent.bytes, depth + 1);
    WireField value = sent;
    if (sent.is_packed) value.bytes = {};
    return scalar(field, value);
  }

  bool map(const Field& field, Fields sent, int depth) {
    const Descriptor& entry = *field.message_type();
    std::map<std::string, std::vector<WireField>> entries;  // in one order, and a key's last value
    for (const WireField& each : sent) {
      std::vector<WireField> fields;
      if (auto problem = wire_fields(entry, each.bytes, fields); !problem.empty()) return fail(std::move(problem));
      std::string key;
      if (!key_text(*entry.map_key(), last_of(fields, 1), key)) return false;
      entries[std::move(key)] = std::move(fields);
    }
    out_ += '{';
    bool is_first = true;
    for (const auto& [key, fields] : entries) {
      if (!std::exchange(is_first, false)) out_ += ',';
      out_ += key;
      out_ += ':';
      const auto value = std::find_if(fields.begin(), fields.end(),
                                      [](const WireField& each) { return each.field->number() == 2; });
      if (!content(*entry.map_value(), {value, fields.end()}, depth)) return false;
    }
    out_ += '}';
    return true;
  }

  /// A map's key as a JSON string.
  bool key_text(const Field& field, const WireField* sent, std::string& out) {
    std::string before = std::move(out_);
    out_.clear();
    const bool is_written = scalar(field, sent == nullptr ? WireField{&field, {}} : *sent);
    out = std::move(out_);
    out_ = std::move(before);
    if (is_written && !out.starts_with('"')) out = '"' + out + '"';
    return is_written;
  }

  // ---- values ----

  bool scalar(const Field& field, const WireField& sent) {
    switch (field.type()) {
      case Field::TYPE_DOUBLE: append_real(out_, std::bit_cast<double>(sent.number)); return true;
      case Field::TYPE_FLOAT:
        append_real(out_, std::bit_cast<float>(static_cast<std::uint32_t>(sent.number)));
        return true;
      case Field::TYPE_INT64:
      case Field::TYPE_SFIXED64: return wide(static_cast<std::int64_t>(sent.number));
      case Field::TYPE_SINT64: return wide(signed_of(sent.number));
      case Field::TYPE_UINT64:
      case Field::TYPE_FIXED64: return wide(sent.number);
      case Field::TYPE_INT32:
      case Field::TYPE_SFIXED32: return whole(static_cast<std::int32_t>(sent.number));
      case Field::TYPE_SINT32: return whole(static_cast<std::int32_t>(signed_of(sent.number & UINT32_MAX)));
      case Field::TYPE_UINT32:
      case Field::TYPE_FIXED32: return whole(static_cast<std::uint32_t>(sent.number));
      case Field::TYPE_BOOL: out_ += sent.number != 0 ? "true" : "false"; return true;
      case Field::TYPE_ENUM: return symbol(*field.enum_type(), static_cast<std::int32_t>(sent.number));
      case Field::TYPE_STRING:
        if (!base::is_utf8(sent.bytes)) return fail("a string is not UTF-8");
        base::append_json_quoted(out_, sent.bytes);
        return true;
      default: append_base64(out_, sent.bytes); return true;
    }
  }

  template <class Int>
  bool whole(Int number) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return true;
  }

  /// 64 bits, which Protobuf's JSON quotes.
  template <class Int>
  bool wide(Int number) {
    if (!is_plain_) out_ += '"';
    whole(number);
    if (!is_plain_) out_ += '"';
    return true;
  }

  bool symbol(const pb::EnumDescriptor& type, std::int32_t number) {
    const auto* const found = type.FindValueByNumber(number);
    if (type.full_name() == "google.protobuf.NullValue") out_ += "null";
    else if (found == nullptr) return whole(number);
    else base::append_json_quoted(out_, found->name());
    return true;
  }

  // ---- types that Protobuf's JSON writes in a form of their own ----

  static std::int64_t number_of(Fields fields, int number) {
    const WireField* const found = last_of(fields, number);
    return found == nullptr ? 0 : static_cast<std::int64_t>(last_value(*found).number);
  }

  bool timestamp(Fields fields) {
    constexpr std::int64_t first = -62'135'596'800, last = 253'402'300'799;  // the years 1 to 9999
    const std::int64_t seconds = number_of(fields, 1);
    const auto nanos = static_cast<std::int32_t>(number_of(fields, 2));
    if (seconds < first || seconds > last || nanos < 0 || nanos > 999'999'999) {
      return fail("a timestamp is out of range");
    }
    append_timestamp(out_, seconds, nanos);
    return true;
  }

  bool duration(Fields fields) {
    constexpr std::int64_t longest = 315'576'000'000;
    const std::int64_t seconds = number_of(fields, 1);
    const auto nanos = static_cast<std::int32_t>(number_of(fields, 2));
    const bool fits = seconds >= -longest && seconds <= longest && nanos > -1'000'000'000 && nanos < 1'000'000'000 &&
                      (seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0));
    if (!fits) return fail("a duration is out of range");
    out_ += seconds < 0 || nanos < 0 ? "\"-" : "\"";
    whole(seconds < 0 ? -seconds : seconds);
    append_fraction(out_, nanos < 0 ? -nanos : nanos);
    out_ += "s\"";
    return true;
  }

  bool wrapped(const Field& field, Fields fields, int depth) { return content(field, fields, depth); }

  bool value_of_struct(Fields fields, int depth) {
    if (fields.empty()) {
      out_ += "null";
      return true;
    }
    return content(*fields.back().field, fields, depth);
  }

  bool field_mask(Fields fields) {
    std::string joined;
    for (const WireField& path : fields) {
      if (!base::is_utf8(path.bytes)) return fail("a string is not UTF-8");
      if (&path != &fields.front()) joined += ',';
      joined += is_plain_ ? std::string{path.bytes} : camel_case(path.bytes);
    }
    base::append_json_quoted(out_, joined);
    return true;
  }

  /// With its type's members beside its type. A type that the schema does not have stays bytes.
  bool any(Fields fields, int depth) {
    const WireField* const url = last_of(fields, 1);
    const WireField* const value = last_of(fields, 2);
    const std::string_view name = url == nullptr ? std::string_view{} : url->bytes;
    if (!base::is_utf8(name)) return fail("a string is not UTF-8");
    const std::string_view bytes = value == nullptr ? std::string_view{} : value->bytes;
    out_ += "{\"@type\":";
    base::append_json_quoted(out_, name);
    const Descriptor* const type = schema_.find(std::string{name.substr(name.rfind('/') + 1)});
    bool is_first = false;
    if (type == nullptr) {
      out_ += ",\"value\":";
      append_base64(out_, bytes);
    } else if (known_type_of(*type) != Known::WELLKNOWNTYPE_UNSPECIFIED) {
      out_ += ",\"value\":";
      if (!message(*type, bytes, depth + 1)) return false;
    } else {
      if (depth > max_message_depth) return fail("it is nested too deep");
      std::vector<WireField> inner;
      if (auto problem = wire_fields(*type, bytes, inner); !problem.empty()) return fail(std::move(problem));
      if (!members(*type, inner, is_first, depth + 1)) return false;
    }
    out_ += '}';
    return true;
  }

  const ProtobufSchema& schema_;
  const bool is_plain_;
  const std::size_t max_bytes_;
  std::string& out_;
  std::size_t visits_ = 0, merged_ = 0;
  std::string problem_, place_;
};

}  // namespace

std::string read_protobuf(const ProtobufSchema& schema, const Descriptor& type, std::string_view bytes,
                          config::JsonForm form, std::size_t max_bytes, std::string& out) {
  out.clear();
  std::string problem = MessageReader{schema, form, max_bytes, out}.read(type, bytes);
  if (problem.empty() && out.size() > max_bytes) {
    problem = "its JSON has more than " + std::to_string(max_bytes) + " bytes";
  }
  return problem;
}

}  // namespace inboxd::formats
