#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "event/record.hpp"

namespace inboxd::formats {

/// The id of a schema in its registry: a number, or a GUID.
struct SchemaId {
  bool is_guid = false;
  std::array<std::uint8_t, 16> bytes{};  ///< of a number the last eight

  auto operator<=>(const SchemaId&) const = default;
  static SchemaId of_number(std::uint64_t number);
  std::string text() const;
  bool is_beyond_int() const;  ///< a number above 2^31 - 1, which no registry gives
  /// Below the registry's address.
  std::string path() const;
};

/// Where a record names its schema.
struct NamedSchema {
  SchemaId id;
  std::string_view data;                  ///< without the prefix
  std::optional<std::string_view> header; ///< the rest of the header, if that named the schema
};

/// The headers that serializers write a schema's id into.
struct SchemaHeaders {
  std::string_view confluent;                ///< a mark, and a GUID or a number
  std::array<std::string_view, 2> apicurio;  ///< a number of eight bytes
};
inline constexpr SchemaHeaders key_headers{"__key_schema_id", {"apicurio.key.globalId", "apicurio.key.contentId"}};
inline constexpr SchemaHeaders value_headers{"__value_schema_id",
                                             {"apicurio.value.globalId", "apicurio.value.contentId"}};

/// The header that names a schema; null: there is none.
const event::Header* find_schema_header(const std::vector<event::Header>& headers, const SchemaHeaders& names);

/// Finds the schema's id in a header, or before the bytes. nullopt: `why` says why not.
std::optional<NamedSchema> find_schema(std::string_view bytes, const std::vector<event::Header>& headers,
                                       const SchemaHeaders& names, config::SchemaIdForm form, std::string& why);

}  // namespace inboxd::formats
