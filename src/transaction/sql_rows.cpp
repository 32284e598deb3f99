#include "transaction/sql_rows.hpp"

#include <arpa/inet.h>
#include <endian.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <limits>
#include <new>

#include "base/uuid.hpp"
#include "inbox/array_parameter.hpp"

namespace inboxd::transaction {
namespace {

struct Known {
  SqlType type;
  bool binary;
};

Known known(Oid type) {
  switch (type) {
    case bool_type:
      return {SqlType::boolean, true};
    case bytea_type:
      return {SqlType::bytea, true};
    case int2_type:
    case int4_type:
    case int8_type:
    case oid_type:
      return {SqlType::int64, true};
    case float4_type:
    case float8_type:
      return {SqlType::float8, true};
    case json_type:
    case jsonb_type:
      return {SqlType::json, true};
    case uuid_type:
      return {SqlType::uuid, true};
    case timestamptz_type:
      return {SqlType::timestamptz, true};
    case text_type:
    case varchar_type:
    case bpchar_type:
    case name_type:
    case void_type:
    case unknown_type:
      return {SqlType::text, true};
    default:
      return {SqlType::text, false};
  }
}

std::int64_t binary_integer(std::string_view bytes) {
  if (bytes.size() == 2) {
    std::uint16_t wire = 0;
    std::memcpy(&wire, bytes.data(), sizeof wire);
    return static_cast<std::int16_t>(ntohs(wire));
  }
  if (bytes.size() == 4) {
    std::uint32_t wire = 0;
    std::memcpy(&wire, bytes.data(), sizeof wire);
    return static_cast<std::int32_t>(ntohl(wire));
  }
  std::uint64_t wire = 0;
  std::memcpy(&wire, bytes.data(), std::min(sizeof wire, bytes.size()));
  return static_cast<std::int64_t>(be64toh(wire));
}

double binary_float(std::string_view bytes) {
  if (bytes.size() == 4) {
    const auto bits = static_cast<std::uint32_t>(binary_integer(bytes));
    float narrow = 0;
    std::memcpy(&narrow, &bits, sizeof narrow);
    return narrow;
  }
  const auto bits = static_cast<std::uint64_t>(binary_integer(bytes));
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

/// Parses `2026-11-21 12:10:39.5+05:30`. nullopt: another date style, or infinity.
std::optional<event::Microseconds> time_of(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, at = 0;
  double second = 0;
  if (std::sscanf(text.c_str(), "%d-%d-%d %d:%d:%lf%n", &year, &month, &day, &hour, &minute, &second, &at) != 6) {
    return std::nullopt;
  }
  const std::string zone = text.substr(static_cast<std::size_t>(at));
  int zone_hour = 0, zone_minute = 0, zone_second = 0;
  const int read =
      std::sscanf(zone.c_str() + (zone.empty() ? 0 : 1), "%d:%d:%d", &zone_hour, &zone_minute, &zone_second);
  if (read < 1 || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  if (zone.ends_with("BC")) year = 1 - year;
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  const std::int64_t east = (zone_hour * 3600 + zone_minute * 60 + zone_second) * (zone[0] == '-' ? -1 : 1);
  return (std::int64_t{timegm(&parts)} - east) * 1'000'000 + std::llround(second * 1e6);
}

/// Rows in the format in which they arrived: all binary or, if a column has no supported binary form, all text.
class Rows final : public SqlResult {
 public:
  Rows(const PGresult* result, RowBuffer buffer, const ResultShape& shape)
      : buffer_{std::move(buffer)}, binary_{shape.binary} {
    columns = shape.columns;
    rows = buffer_.rows();
    const char* const count = PQcmdTuples(const_cast<PGresult*>(result));
    std::from_chars(count, count + std::strlen(count), affected);
  }

  SqlValue value(std::size_t row, std::size_t column) const override {
    SqlValue out;
    if (row >= rows || column >= columns.size()) return out;
    const auto bytes = buffer_.field(row, column);
    if (!bytes) return out;
    out.type = columns[column].type;
    binary_ ? read_binary(out, *bytes, columns[column].type_id) : read_text(out, *bytes);
    return out;
  }

 private:
  static void read_binary(SqlValue& out, std::string_view bytes, Oid type) {
    switch (out.type) {
      case SqlType::boolean:
        out.integer = !bytes.empty() && bytes[0] != 0 ? 1 : 0;
        break;
      case SqlType::int64:
        out.integer = binary_integer(bytes);
        if (type == oid_type) out.integer &= 0xFFFFFFFF;
        break;
      case SqlType::timestamptz:
        out.integer = binary_integer(bytes);  // infinity stays the largest or smallest number
        if (out.integer < std::numeric_limits<std::int64_t>::max() - inbox::postgres_epoch_us &&
            out.integer != std::numeric_limits<std::int64_t>::min()) {
          out.integer += inbox::postgres_epoch_us;
        }
        break;
      case SqlType::float8:
        out.number = binary_float(bytes);
        break;
      default:
        out.bytes = type == jsonb_type ? bytes.substr(1) : bytes;
    }
  }
  void read_text(SqlValue& out, std::string_view bytes) const {
    switch (out.type) {
      case SqlType::boolean:
        out.integer = bytes == "t" ? 1 : 0;
        break;
      case SqlType::int64:
        std::from_chars(bytes.data(), bytes.data() + bytes.size(), out.integer);
        break;
      case SqlType::float8:
        out.number = std::strtod(bytes.data(), nullptr);
        break;
      case SqlType::uuid: {
        const auto uuid = base::parse_uuid(bytes).value_or(base::Uuid{});
        out.bytes = converted_.emplace_back(reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size());
        break;
      }
      case SqlType::bytea: {
        std::size_t size = 0;
        unsigned char* const memory = PQunescapeBytea(reinterpret_cast<const unsigned char*>(bytes.data()), &size);
        out.bytes = converted_.emplace_back(reinterpret_cast<const char*>(memory), memory == nullptr ? 0 : size);
        PQfreemem(memory);
        break;
      }
      case SqlType::timestamptz:
        if (const auto time = time_of(std::string{bytes})) {
          out.integer = *time;
        } else {
          out.type = SqlType::text;
          out.bytes = bytes;
        }
        break;
      default:
        out.bytes = bytes;
    }
  }

  RowBuffer buffer_;
  bool binary_;
  mutable std::deque<std::string> converted_;  ///< bytes that the text form encodes
};

std::optional<std::string> field(const PGresult* result, int code) {
  const char* const text = PQresultErrorField(result, code);
  return text == nullptr ? std::nullopt : std::optional<std::string>{text};
}

}  // namespace

ResultShape shape_of(const PGresult* description) {
  ResultShape out;
  for (int i = 0; i < PQnfields(description); ++i) {
    const Oid type = PQftype(description, i);
    out.columns.push_back({PQfname(description, i), type, known(type).type});
    out.binary = out.binary && known(type).binary;
  }
  return out;
}

void RowBuffer::take(const PGresult* rows) {
  columns_ = static_cast<std::size_t>(PQnfields(rows));
  try {
    for (int row = 0; row < PQntuples(rows) && !is_too_large(); ++row) {
      for (int column = 0; column < PQnfields(rows) && !is_too_large(); ++column) take_field(rows, row, column);
      ++rows_;
    }
  } catch (const std::bad_alloc&) {  // the other results of the pipeline must still be read
    give_up();
  }
}

void RowBuffer::give_up() {
  size_ = limit_ + 1;
  fields_ = {};
  bytes_ = {};
}

void RowBuffer::take_field(const PGresult* rows, int row, int column) {
  const bool is_null = PQgetisnull(rows, row, column) != 0;
  const int length = is_null ? -1 : PQgetlength(rows, row, column);
  size_ += sizeof(Field) + static_cast<std::size_t>(std::max(length, 0)) + 1;
  if (is_too_large()) return give_up();
  fields_.push_back({bytes_.size(), length});
  // With the terminating zero, which the number parsers need.
  if (!is_null) bytes_.append(PQgetvalue(rows, row, column), static_cast<std::size_t>(length) + 1);
}

std::optional<std::string_view> RowBuffer::field(std::size_t row, std::size_t column) const {
  if (is_too_large() || row >= rows_ || column >= columns_) return std::nullopt;
  const Field& field = fields_[row * columns_ + column];
  if (field.length < 0) return std::nullopt;
  return std::string_view{bytes_}.substr(field.at, static_cast<std::size_t>(field.length));
}

std::unique_ptr<SqlResult> result_of(const PGresult* result, RowBuffer rows, const ResultShape& shape) {
  return std::make_unique<Rows>(result, std::move(rows), shape);
}

SqlError error_of(const PGresult* result) {
  SqlError error;
  error.sqlstate = field(result, PG_DIAG_SQLSTATE).value_or(lost_connection);
  error.message = field(result, PG_DIAG_MESSAGE_PRIMARY).value_or(PQresultErrorMessage(result));
  error.position =
      static_cast<std::uint32_t>(std::atoi(field(result, PG_DIAG_STATEMENT_POSITION).value_or("0").c_str()));
  error.detail = field(result, PG_DIAG_MESSAGE_DETAIL);
  error.hint = field(result, PG_DIAG_MESSAGE_HINT);
  error.schema = field(result, PG_DIAG_SCHEMA_NAME);
  error.table = field(result, PG_DIAG_TABLE_NAME);
  error.column = field(result, PG_DIAG_COLUMN_NAME);
  error.constraint = field(result, PG_DIAG_CONSTRAINT_NAME);
  error.data_type = field(result, PG_DIAG_DATATYPE_NAME);
  return error;
}

SqlError error_of(const inbox::DatabaseFailure& failure) {
  return error_with(failure.sqlstate.empty() ? lost_connection : failure.sqlstate, failure.message);
}

SqlError error_elsewhere(const PGresult* result) {
  SqlError error = error_of(result);
  error.position = 0;
  return error;
}

}  // namespace inboxd::transaction
