#pragma once
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inbox/arrays.hpp"
#include "inbox/handler_sql.hpp"
#include "inbox/pipeline.hpp"

namespace inboxd::inbox {

/// A handler's parameters in the form that the server wants them in: binary where the type is one of ours, text where
/// not. Private to this room.
class SqlParameters final {
 public:
  /// `types`: what the statement wants. Says what is wrong with a value; nothing where all is well.
  std::optional<SqlError> add(std::span<const SqlValue> values, const std::vector<Oid>& types);
  void add(ArrayParameter& array);
  void add_time(event::Microseconds unix_us);
  const WireParameters& wire() const { return wire_; }

 private:
  std::optional<SqlError> add(const SqlValue& value, Oid type);
  std::optional<SqlError> add_integer(std::int64_t value, Oid type);
  /// What came as bytes, text or JSON.
  std::optional<SqlError> add_string(std::string_view bytes, Oid type);
  void add_bytes(std::string bytes, int format);
  void add_text(std::string text);
  void add_view(std::string_view bytes);

  WireParameters wire_;
  std::deque<std::string> kept_;
};

}  // namespace inboxd::inbox
