#pragma once
#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inbox/database_error.hpp"
#include "inbox/handler_sql.hpp"
#include "inbox/pipeline.hpp"

namespace inboxd::inbox {

/// Whether all columns can be had in binary form. Private to this room, as all of these.
struct ResultShape {
  std::vector<SqlColumn> columns;
  bool binary = true;
};
ResultShape shape_of(const PGresult* description);

/// The rows of one statement, copied as they come; none any more once they take more than `limit` bytes.
class RowBuffer final : public RowSink {
 public:
  explicit RowBuffer(std::size_t limit) : limit_{limit} {}

  void take(const PGresult* rows) override;
  bool is_too_large() const { return size_ > limit_; }
  std::size_t rows() const { return rows_; }
  /// Nothing for null. The bytes live as long as the buffer.
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

/// What a statement that went well did, and its rows.
std::unique_ptr<SqlResult> result_of(const PGresult* result, RowBuffer rows, const ResultShape& shape);

/// What a failed result says.
SqlError error_of(const PGresult* result);
/// What a failure says that has no result, as of a connection that broke.
SqlError error_of(const DatabaseFailure& failure);
/// The first where the statement is not the handler's: a place in it would mislead.
SqlError error_elsewhere(const PGresult* result);

}  // namespace inboxd::inbox
