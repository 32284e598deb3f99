#pragma once
#include <memory>
#include <vector>

#include "inbox/handler_sql.hpp"
#include "plugin/abi/inboxd/sql.h"

namespace inboxd::plugin {

/// A result as a plugin sees it, with what it points to.
struct SqlAnswer : inboxd_sql_result {
  explicit SqlAnswer(std::unique_ptr<inbox::SqlResult> result);
  SqlAnswer(const SqlAnswer&) = delete;
  SqlAnswer& operator=(const SqlAnswer&) = delete;

  std::unique_ptr<inbox::SqlResult> rows;
  std::vector<inboxd_sql_column> column_list;
  inboxd_sql_error failure{};
};

/// A plugin's statement as the inbox takes it. A view; `values` keeps what it points to. What is short of version 1.0
/// or of an unknown type is told as an error of SQLSTATE 08P01.
struct SqlQuestion {
  SqlQuestion(const inboxd_sql_statement* said, std::size_t events);
  std::vector<inbox::SqlValue> values;
  inbox::SqlStatement statement;
  std::optional<inbox::SqlError> nonsense;

  /// The database's answer, or what is wrong with the question itself.
  template <class Ask>
  std::unique_ptr<inbox::SqlResult> answered_by(Ask ask) const {
    if (!nonsense) return ask(statement);
    auto result = std::make_unique<inbox::SqlResult>();
    result->error = nonsense;
    return result;
  }
};

/// SQL during one call: the extension's part of it. The call's thread. Results live until they are released, or it
/// ends.
class CallSql final {
 public:
  CallSql(inbox::HandlerSql& sql, std::size_t events) : sql_{sql}, events_{events} {}
  CallSql(const CallSql&) = delete;
  CallSql& operator=(const CallSql&) = delete;

  const inboxd_sql_result* execute(const inboxd_sql_statement* statement);
  void release(const inboxd_sql_result* result);
  inbox::HandlerSql& sql() { return sql_; }

 private:
  inbox::HandlerSql& sql_;
  std::size_t events_;
  std::vector<std::unique_ptr<SqlAnswer>> answers_;
};

/// The call's part of the extension; `of_call` finds the CallSql behind a call's face (call.cpp).
const inboxd_sql* sql_call_part();
CallSql* sql_of_call(inboxd_call* call);

/// The host's part: the one that describes through the HandlerHost it is asked of, and the one for the time before
/// there is a handler, which knows nothing.
const inboxd_sql_host* sql_host_part();
const inboxd_sql_host* sql_entry_part();

}  // namespace inboxd::plugin
