#pragma once
#include <libpq-fe.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inbox/handler_sql.hpp"
#include "inbox/pipeline.hpp"

namespace inboxd::inbox {

/// A handler's parameters in the form that the server wants them in: binary where the type is one of ours, text where
/// not. Private to this room.
class SqlParameters final {
 public:
  /// `types`: what the statement wants. Says what is wrong with a value; nothing where all is well.
  std::optional<SqlError> add(std::span<const SqlValue> values, const std::vector<Oid>& types);
  void add_bytes(std::string bytes, int format);
  const WireParameters& wire() const { return wire_; }

 private:
  std::optional<SqlError> add(const SqlValue& value, Oid type);
  void add_text(std::string text);
  void add_view(std::string_view bytes);

  WireParameters wire_;
  std::deque<std::string> kept_;
};

/// Whether all columns can be had in binary form.
struct ResultShape {
  std::vector<SqlColumn> columns;
  bool binary = true;
};
ResultShape shape_of(const PGresult* description);

/// The rows of a statement that went well.
std::unique_ptr<SqlResult> rows_of(std::shared_ptr<PGresult> result, const ResultShape& shape);

/// What a failed result says.
SqlError error_of(const PGresult* result);

}  // namespace inboxd::inbox
