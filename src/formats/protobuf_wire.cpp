#include "formats/protobuf_wire.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <map>

namespace inboxd::formats {
namespace {

namespace pb = google::protobuf;
using pb::internal::WireFormatLite;
using Input = pb::io::CodedInputStream;

/// Of groups in each other, which only old schemas have.
constexpr int max_group_depth = 100;

WireFormatLite::WireType wire_type_of(const pb::FieldDescriptor& field) {
  return WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()));
}

bool read_number(Input& input, WireFormatLite::WireType type, std::uint64_t& out) {
  if (type == WireFormatLite::WIRETYPE_VARINT) return input.ReadVarint64(&out);
  if (type == WireFormatLite::WIRETYPE_FIXED64) return input.ReadLittleEndian64(&out);
  std::uint32_t small = 0;
  const bool is_read = input.ReadLittleEndian32(&small);
  out = small;
  return is_read;
}

class WireReader final {
 public:
  WireReader(const pb::Descriptor& type, std::string_view bytes)
      : type_{type}, bytes_{bytes},
        input_{reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())} {
    input_.SetRecursionLimit(max_group_depth);
  }

  std::string read(std::vector<WireField>& out) {
    while (const std::uint32_t tag = input_.ReadTag()) {
      WireField field;
      if (!read_field(tag, field)) return "the bytes end within a field, or are none of Protobuf";
      if (field.field != nullptr) out.push_back(field);
    }
    return input_.ConsumedEntireMessage() ? "" : "the bytes are none of Protobuf";
  }

 private:
  /// A field that the type does not have stays without a descriptor.
  bool read_field(std::uint32_t tag, WireField& out) {
    const auto sent = WireFormatLite::GetTagWireType(tag);
    const auto* const field = type_.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const int before = input_.CurrentPosition();
    if (field == nullptr) return WireFormatLite::SkipField(&input_, tag);
    const auto expected = wire_type_of(*field);
    out.is_packed = sent != expected && field->is_packable() && sent == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (sent != expected && !out.is_packed) return WireFormatLite::SkipField(&input_, tag);  // as if it were unknown
    out.field = field;
    if (sent == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return read_sized(out);
    if (sent != WireFormatLite::WIRETYPE_START_GROUP) return read_number(input_, sent, out.number);
    if (!WireFormatLite::SkipField(&input_, tag)) return false;
    // The tag that ends the group is as long as the one that begins it.
    const auto end = static_cast<std::size_t>(pb::io::CodedOutputStream::VarintSize32(tag));
    const auto size = static_cast<std::size_t>(input_.CurrentPosition() - before);
    out.bytes = bytes_.substr(static_cast<std::size_t>(before), size - std::min(size, end));
    return true;
  }

  bool read_sized(WireField& out) {
    std::uint32_t size = 0;
    if (!input_.ReadVarint32(&size)) return false;
    const auto at = static_cast<std::size_t>(input_.CurrentPosition());
    if (size > bytes_.size() - at) return false;
    out.bytes = bytes_.substr(at, size);
    return input_.Skip(static_cast<int>(size));
  }

  const pb::Descriptor& type_;
  const std::string_view bytes_;
  Input input_;
};

/// Of each oneof its last member stays, from where it last took another one's place.
void keep_last_of_oneofs(std::vector<WireField>& fields) {
  struct Last {
    const pb::FieldDescriptor* member = nullptr;
    bool is_replaced = false;
  };
  std::map<const pb::OneofDescriptor*, Last> lasts;
  for (auto field = fields.rbegin(); field != fields.rend(); ++field) {
    const auto* const oneof = field->field->real_containing_oneof();
    if (oneof == nullptr) continue;
    Last& last = lasts[oneof];
    if (last.member == nullptr) last.member = field->field;
    if (last.member != field->field) last.is_replaced = true;
    if (last.is_replaced) field->field = nullptr;
  }
  std::erase_if(fields, [](const WireField& field) { return field.field == nullptr; });
}

}  // namespace

std::string wire_fields(const pb::Descriptor& type, std::string_view bytes, std::vector<WireField>& out) {
  out.clear();
  std::string problem = WireReader{type, bytes}.read(out);
  if (type.real_oneof_decl_count() > 0) keep_last_of_oneofs(out);
  const auto index = [](const WireField& field) { return field.field->index(); };
  std::stable_sort(out.begin(), out.end(),
                   [&](const WireField& a, const WireField& b) { return index(a) < index(b); });
  return problem;
}

pb::Descriptor::WellKnownType known_type_of(const pb::Descriptor& type) {
  const bool is_google = type.file()->name().starts_with("google/protobuf/") && type.containing_type() == nullptr;
  return is_google ? type.well_known_type() : pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED;
}

bool take_packed(WireField& field, std::uint64_t& number) {
  Input input{reinterpret_cast<const std::uint8_t*>(field.bytes.data()), static_cast<int>(field.bytes.size())};
  if (!read_number(input, wire_type_of(*field.field), number)) return false;
  field.bytes.remove_prefix(static_cast<std::size_t>(input.CurrentPosition()));
  return true;
}

}  // namespace inboxd::formats
