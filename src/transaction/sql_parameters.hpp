#pragma once
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inbox/array_parameter.hpp"
#include "inbox/pipeline.hpp"
#include "transaction/handler_sql.hpp"

namespace inboxd::transaction {

/// A handler's parameters in wire format: binary for supported types, text for others.
class SqlParameters final {
 public:
  /// `types`: of the statement's parameters. Returns an error if a value does not fit.
  std::optional<SqlError> add(std::span<const SqlValue> values, const std::vector<Oid>& types);
  void add(inbox::ArrayParameter& array);
  void add_time(event::Microseconds unix_us);
  void add_flag(bool flag) { add_text(flag ? "t" : "f"); }
  const inbox::WireParameters& wire() const { return wire_; }

 private:
  std::optional<SqlError> add(const SqlValue& value, Oid type);
  std::optional<SqlError> add_integer(std::int64_t value, Oid type);
  /// Adds bytes, text or JSON.
  std::optional<SqlError> add_string(std::string_view bytes, Oid type);
  void add_bytes(std::string bytes, int format);
  void add_text(std::string text);
  void add_view(std::string_view bytes);

  inbox::WireParameters wire_;
  std::deque<std::string> kept_;
};

}  // namespace inboxd::transaction
