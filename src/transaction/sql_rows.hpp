#pragma once
#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inbox/database_error.hpp"
#include "inbox/pipeline.hpp"
#include "transaction/handler_sql.hpp"

namespace inboxd::transaction {

/// Oids of the types whose binary format is supported (pg_type.dat; they never change).
enum Type : Oid {
  bool_type = 16,
  bytea_type = 17,
  name_type = 19,
  int8_type = 20,
  int2_type = 21,
  int4_type = 23,
  text_type = 25,
  oid_type = 26,
  json_type = 114,
  float4_type = 700,
  float8_type = 701,
  unknown_type = 705,
  bpchar_type = 1042,
  varchar_type = 1043,
  timestamptz_type = 1184,
  uuid_type = 2950,
  void_type = 2278,
  jsonb_type = 3802
};

/// The columns of a result, and whether all of them can be read in binary form.
struct ResultShape {
  std::vector<SqlColumn> columns;
  bool binary = true;
};
ResultShape shape_of(const PGresult* description);

/// The rows of a statement, copied as they arrive. Drops all of them once they exceed `limit` bytes.
class RowBuffer final : public inbox::RowSink {
 public:
  explicit RowBuffer(std::size_t limit) : limit_{limit} {}

  void take(const PGresult* rows) override;
  bool is_too_large() const { return size_ > limit_; }
  std::size_t rows() const { return rows_; }
  /// nullopt: null. The bytes live as long as the buffer.
  std::optional<std::string_view> field(std::size_t row, std::size_t column) const;

 private:
  struct Field {
    std::size_t at;
    int length;  ///< -1: null
  };
  void take_field(const PGresult* rows, int row, int column);
  void give_up();

  std::size_t limit_;
  std::size_t size_ = 0;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<Field> fields_;
  std::string bytes_;
};

/// The result of a successful statement.
std::unique_ptr<SqlResult> result_of(const PGresult* result, RowBuffer rows, const ResultShape& shape);

/// The error of a failed result.
SqlError error_of(const PGresult* result);
/// The error of a failure without a result, such as a broken connection.
SqlError error_of(const inbox::DatabaseFailure& failure);
/// The error without the position: for statements that are not the handler's.
SqlError error_elsewhere(const PGresult* result);

}  // namespace inboxd::transaction
