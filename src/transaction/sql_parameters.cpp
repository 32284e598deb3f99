#include "transaction/sql_parameters.hpp"

#include <arpa/inet.h>
#include <endian.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/uuid.hpp"
#include "transaction/sql_rows.hpp"

namespace inboxd::transaction {
namespace {

template <class Wire>
std::string raw(Wire wire) {
  std::string out(sizeof wire, '\0');
  std::memcpy(out.data(), &wire, sizeof wire);
  return out;
}
std::string wire8(std::int64_t value) { return raw(htobe64(static_cast<std::uint64_t>(value))); }
std::string wire4(std::int32_t value) { return raw(htonl(static_cast<std::uint32_t>(value))); }
std::string wire2(std::int16_t value) { return raw(htons(static_cast<std::uint16_t>(value))); }

std::string wire_float(double number, Oid type) {
  if (type == float4_type) {
    const auto narrow = static_cast<float>(number);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &narrow, sizeof bits);
    return raw(htonl(bits));
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return raw(htobe64(bits));
}

/// The shortest text that reads back as the same number.
std::string text_of(double number) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, number);
  return {text, end.ptr};
}

/// ISO 8601 in UTC, which PostgreSQL parses under any date style.
std::string text_of_time(event::Microseconds time) {
  std::int64_t seconds = time / 1'000'000, rest = time % 1'000'000;
  if (rest < 0) {
    rest += 1'000'000;
    --seconds;
  }
  const std::time_t since = seconds;
  std::tm parts{};
  gmtime_r(&since, &parts);
  char text[64];
  const int year = parts.tm_year + 1900;
  std::snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d.%06d+00%s", year > 0 ? year : 1 - year,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(rest),
                year > 0 ? "" : " BC");
  return text;
}

std::string text_of_uuid(std::string_view bytes) {
  base::Uuid uuid;
  std::memcpy(uuid.bytes.data(), bytes.data(), uuid.bytes.size());
  return uuid.text();
}

bool is_text(Oid type) {
  return type == text_type || type == varchar_type || type == bpchar_type || type == json_type || type == name_type ||
         type == unknown_type;
}

SqlError out_of_range(std::int64_t value) {
  return error_with("22003", "the parameter " + std::to_string(value) + " does not fit the integer type it is used as");
}

}  // namespace

void SqlParameters::add_bytes(std::string bytes, int format) {
  kept_.push_back(std::move(bytes));
  wire_.add(kept_.back().data(), kept_.back().size(), format);
}
void SqlParameters::add(inbox::ArrayParameter& array) {
  const auto bytes = array.finish();
  add_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 1);
}
void SqlParameters::add_time(event::Microseconds unix_us) { add_bytes(wire8(unix_us - inbox::postgres_epoch_us), 1); }
void SqlParameters::add_text(std::string text) { add_bytes(std::move(text), 0); }
void SqlParameters::add_view(std::string_view bytes) {
  wire_.add(bytes.data() == nullptr ? "" : bytes.data(), bytes.size(), 1);
}

std::optional<SqlError> SqlParameters::add(std::span<const SqlValue> values, const std::vector<Oid>& types) {
  if (values.size() != types.size()) {
    return error_with("08P01", "the statement has " + std::to_string(types.size()) + " parameters, " +
                                   std::to_string(values.size()) + " values were given");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (auto error = add(values[i], types[i])) return error;
  }
  return std::nullopt;
}

std::optional<SqlError> SqlParameters::add(const SqlValue& value, Oid type) {
  switch (value.type) {
    case SqlType::null:
      wire_.add(nullptr, 0, 0);
      return std::nullopt;
    case SqlType::boolean:
      if (type == bool_type)
        add_bytes(std::string(1, value.integer != 0 ? '\1' : '\0'), 1);
      else
        add_text(value.integer != 0 ? "true" : "false");
      return std::nullopt;
    case SqlType::int64:
      return add_integer(value.integer, type);
    case SqlType::float8:
      if (type == float8_type || type == float4_type)
        add_bytes(wire_float(value.number, type), 1);
      else
        add_text(text_of(value.number));
      return std::nullopt;
    case SqlType::timestamptz:
      if (type == timestamptz_type)
        add_time(value.integer);
      else
        add_text(text_of_time(value.integer));
      return std::nullopt;
    case SqlType::uuid:
      if (type == uuid_type)
        add_view(value.bytes.substr(0, 16));
      else
        add_text(text_of_uuid(value.bytes));
      return std::nullopt;
    case SqlType::bytea:
    case SqlType::text:
    case SqlType::json:
      return add_string(value.bytes, type);
  }
  return std::nullopt;
}

std::optional<SqlError> SqlParameters::add_integer(std::int64_t value, Oid type) {
  if (type == int8_type) {
    add_bytes(wire8(value), 1);
  } else if (type == int4_type) {
    if (value != static_cast<std::int32_t>(value)) return out_of_range(value);
    add_bytes(wire4(static_cast<std::int32_t>(value)), 1);
  } else if (type == int2_type) {
    if (value != static_cast<std::int16_t>(value)) return out_of_range(value);
    add_bytes(wire2(static_cast<std::int16_t>(value)), 1);
  } else {
    add_text(std::to_string(value));
  }
  return std::nullopt;
}

std::optional<SqlError> SqlParameters::add_string(std::string_view bytes, Oid type) {
  if (is_text(type) || type == bytea_type) {
    add_view(bytes);
  } else if (type == jsonb_type) {
    std::string versioned(1, '\1');  // of its binary form
    versioned.append(bytes);
    add_bytes(std::move(versioned), 1);
  } else if (bytes.find('\0') != std::string_view::npos) {
    return error_with("22021", "a parameter has a zero byte, which the type text cannot hold");
  } else {
    add_text(std::string{bytes});
  }
  return std::nullopt;
}

}  // namespace inboxd::transaction
