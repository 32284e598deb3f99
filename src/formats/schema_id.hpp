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

/// Finds the schema's id in the header `header` (a GUID or a number), or before the bytes. nullopt: `why` says why not.
std::optional<NamedSchema> find_schema(std::string_view bytes, const std::vector<event::Header>& headers,
                                       std::string_view header, config::SchemaIdForm form, std::string& why);

}  // namespace inboxd::formats
