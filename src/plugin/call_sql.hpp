#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plugin/abi/inboxd/outbox.h"
#include "plugin/abi/inboxd/sql.h"
#include "plugin/instance.hpp"
#include "transaction/handler_sql.hpp"

namespace inboxd::plugin {

/// A result in the ABI's form, with the memory it points to.
struct SqlAnswer : inboxd_sql_result {
  explicit SqlAnswer(std::unique_ptr<transaction::SqlResult> result);
  SqlAnswer(const SqlAnswer&) = delete;
  SqlAnswer& operator=(const SqlAnswer&) = delete;

  std::unique_ptr<transaction::SqlResult> rows;
  std::vector<inboxd_sql_column> column_list;
  inboxd_sql_error failure{};
};

/// A plugin's statement as the transaction takes it. A view; `values` owns the memory. A struct smaller than version
/// 1.0 or an unknown type is an error of SQLSTATE 08P01.
struct SqlQuestion {
  SqlQuestion(const inboxd_sql_statement* said, std::size_t events);
  std::vector<transaction::SqlValue> values;
  transaction::SqlStatement statement;
  std::optional<transaction::SqlError> invalid;

  /// The database's answer, or the error in the question itself.
  template <class Ask>
  std::unique_ptr<transaction::SqlResult> answered_by(Ask ask) const {
    if (!invalid) return ask(statement);
    auto result = std::make_unique<transaction::SqlResult>();
    result->error = invalid;
    return result;
  }
};

/// SQL during a call. The call's thread. Results live until they are released or the call ends.
class CallSql final {
 public:
  CallSql(transaction::HandlerSql& sql, std::span<const Delivered> events, std::string_view handler)
      : sql_{sql}, events_{events}, handler_{handler} {}
  CallSql(const CallSql&) = delete;
  CallSql& operator=(const CallSql&) = delete;

  const inboxd_sql_result* execute(const inboxd_sql_statement* statement);
  void release(const inboxd_sql_result* result);
  /// `index`: of the event that the messages belong to; INBOXD_THE_REST: unknown, unless the call has a single event.
  const inboxd_sql_error* publish(std::size_t index, std::span<const inboxd_outbox_message> messages,
                                  std::uint8_t (*ids)[16]);
  transaction::HandlerSql& sql() { return sql_; }

 private:
  transaction::HandlerSql& sql_;
  std::optional<base::Uuid> next_message_id(std::size_t index);

  std::span<const Delivered> events_;
  std::string_view handler_;
  std::vector<std::uint32_t> published_for_;  ///< messages of each event; empty: none
  std::vector<std::unique_ptr<SqlAnswer>> answers_;
  std::unique_ptr<SqlAnswer> published_;  ///< the answer to the last publish
};

/// The extension's functions for a call; `sql_of_call` finds the CallSql of a call (call.cpp).
const inboxd_sql* sql_call_part();
const inboxd_outbox* outbox_call_part();
CallSql* sql_of_call(inboxd_call* call);

/// The extension's functions for a host. The first describes statements through its HandlerHost; the other serves
/// plugins that have no instance yet and knows nothing.
const inboxd_sql_host* sql_host_part();
const inboxd_sql_host* sql_entry_part();

}  // namespace inboxd::plugin
