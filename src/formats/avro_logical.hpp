#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/avro_schema.hpp"

namespace inboxd::formats {

/// Writes a date, time or timestamp as a JSON string; beyond the years 0001 to 9999, or the day's end, as its number.
void append_time(std::string& out, AvroType::Logical logical, std::int64_t number);

/// Writes a time after or before 1970 as a JSON string, from the year 1 to 9999.
void append_timestamp(std::string& out, std::int64_t seconds, std::int32_t nanos);
/// The digits of a second after its point: none, or three, six or nine.
void append_fraction(std::string& out, std::int32_t nanos);

/// Writes a two's complement number, highest byte first, as a JSON string with `scale` digits after its point. False:
/// it has more than max_decimal_bytes.
bool append_decimal(std::string& out, std::string_view bytes, std::size_t scale);
inline constexpr std::size_t max_decimal_bytes = 512;

/// 12 bytes as a JSON string in ISO 8601: `P1M2DT3.004S`.
void append_duration(std::string& out, std::string_view bytes);

/// 16 bytes as a JSON string.
void append_uuid(std::string& out, std::string_view bytes);

}  // namespace inboxd::formats
