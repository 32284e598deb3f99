#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace inboxd::formats {

/// A type of an Avro schema. A value.
struct AvroType {
  enum class Kind : std::uint8_t {
    null_value,
    boolean,
    int32,
    int64,
    float32,
    float64,
    bytes,
    string,
    record,
    enumeration,
    array,
    map,
    choice,  ///< a union
    fixed,
  };
  enum class Logical : std::uint8_t {
    none,
    decimal,
    date,
    time_millis,
    time_micros,
    timestamp_millis,
    timestamp_micros,
    timestamp_nanos,
    local_millis,
    local_micros,
    local_nanos,
    uuid,
    duration,
  };
  struct Field {
    std::string name;      ///< `"name":`
    std::size_t type = 0;  ///< index into AvroSchema::types
  };

  Kind kind = Kind::null_value;
  Logical logical = Logical::none;
  std::size_t scale = 0;              ///< of a decimal
  std::size_t size = 0;               ///< of a fixed type
  std::string name;                   ///< of a branch in Avro's JSON encoding: `"long":`
  std::vector<Field> fields;          ///< of a record
  std::vector<std::string> symbols;   ///< of an enumeration, as JSON strings
  std::vector<std::size_t> inner;     ///< of an array or map: its items; of a choice: its branches
};

/// A schema whose names are resolved: types refer to each other by index, also in circles. A value.
struct AvroSchema {
  std::vector<AvroType> types;
  std::size_t root = 0;
};

/// Limits of a schema.
inline constexpr std::size_t max_avro_types = 10'000;
inline constexpr int max_avro_depth = 64;

/// Reads a schema's JSON. `references`: the schemas of other subjects that it names, each after those that it refers to
/// itself. The problem is a predicate: "names the type app.Money, which it does not define". Pure.
base::Result<AvroSchema> parse_avro(std::string_view text, std::span<const std::string> references = {});

}  // namespace inboxd::formats
