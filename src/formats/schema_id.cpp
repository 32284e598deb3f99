#include "formats/schema_id.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/uuid.hpp"

namespace inboxd::formats {
namespace {

constexpr char of_number_mark = '\0';
constexpr char of_guid_mark = '\1';
constexpr std::size_t guid_size = 16;
constexpr std::size_t apicurio_size = 8;

/// A number of big-endian bytes.
SchemaId number_in(std::string_view bytes) {
  SchemaId out;
  std::copy_backward(bytes.begin(), bytes.end(), out.bytes.end());
  return out;
}

/// In Confluent's header a GUID, or a number of 4 or 8 bytes; behind a GUID a message's indexes may follow. In
/// Apicurio's a number without a mark.
std::optional<NamedSchema> named_in_header(std::string_view value, bool is_confluent, std::string_view data) {
  if (!is_confluent) {
    if (value.size() != apicurio_size) return std::nullopt;
    return NamedSchema{number_in(value), data, std::string_view{}};
  }
  if (value.size() >= 1 + guid_size && value[0] == of_guid_mark) {
    SchemaId id{true};
    std::copy_n(value.begin() + 1, guid_size, id.bytes.begin());
    return NamedSchema{id, data, value.substr(1 + guid_size)};
  }
  if ((value.size() == 5 || value.size() == 9) && value[0] == of_number_mark) {
    return NamedSchema{number_in(value.substr(1)), data, std::string_view{}};
  }
  return std::nullopt;
}

}  // namespace

SchemaId SchemaId::of_number(std::uint64_t number) {
  SchemaId out;
  for (std::size_t i = out.bytes.size(); number != 0; number >>= 8) {
    out.bytes[--i] = static_cast<std::uint8_t>(number & 0xFF);
  }
  return out;
}

std::string SchemaId::text() const {
  if (is_guid) return base::Uuid{bytes}.text();
  std::uint64_t number = 0;
  for (const std::uint8_t byte : bytes) number = number << 8 | byte;
  return std::to_string(number);
}

bool SchemaId::is_beyond_int() const {
  return std::any_of(bytes.begin(), bytes.end() - 4, [](std::uint8_t byte) { return byte != 0; }) ||
         (bytes[12] & 0x80U) != 0;
}

std::string SchemaId::path() const { return (is_guid ? "/schemas/guids/" : "/schemas/ids/") + text(); }

const event::Header* find_schema_header(const std::vector<event::Header>& headers, const SchemaHeaders& names) {
  for (const std::string_view name : {names.confluent, names.apicurio[0], names.apicurio[1]}) {
    if (const auto* const found = event::find_header(headers, name); found != nullptr && found->value) return found;
  }
  return nullptr;
}

std::optional<NamedSchema> find_schema(std::string_view bytes, const std::vector<event::Header>& headers,
                                       const SchemaHeaders& names, config::SchemaIdForm form, std::string& why) {
  if (const auto* const found = find_schema_header(headers, names)) {
    if (auto named = named_in_header(*found->value, found->name == names.confluent, bytes)) return named;
    // A copied record that was serialized again may keep another serializer's header, even as text.
    const bool may_be_stray = found->name != names.confluent && !bytes.empty() && bytes[0] == of_number_mark;
    if (!may_be_stray) {
      why = "header " + std::string{found->name} + " holds no schema id";
      return std::nullopt;
    }
  }
  const std::size_t digits = form == config::SchemaIdForm::confluent ? 4 : apicurio_size;
  if (bytes.empty() || bytes[0] != of_number_mark) {
    why = "it does not begin with 0 and a schema id" +
          (bytes.empty() ? ", it is empty" : ", but with byte 0x" + base::hex(bytes.substr(0, 1)));
    return std::nullopt;
  }
  if (bytes.size() < 1 + digits) {
    why = "it ends within the schema id";
    return std::nullopt;
  }
  return NamedSchema{number_in(bytes.substr(1, digits)), bytes.substr(1 + digits), std::nullopt};
}

}  // namespace inboxd::formats
