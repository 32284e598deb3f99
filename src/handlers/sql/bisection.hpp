#pragma once
#include <inboxd/sql.h>

#include <cstddef>

#include "sql_failure.hpp"
#include "sql_statement.hpp"

namespace sql_handler {

/// Runs a statement for all events of a call and, if it fails, for its halves in order, so that only the events that
/// fail alone are charged. A single culprit in n costs about 2 log2(n) statements on 2 n events. Lives as long as the
/// call.
class Bisection final {
 public:
  Bisection(inboxd_call* call, const inboxd_sql& sql, const Statement& statement, const Permanent& permanent)
      : call_{call}, sql_{sql}, statement_{statement}, permanent_{permanent} {}

  /// Gives each event its verdict. An event without a verdict was not reached: the transaction is over. The daemon then
  /// repeats it or, past the deadline, undoes it all and calls each event alone.
  void run(std::size_t count) { settle(0, count, count); }

 private:
  /// False: nothing more can run in this call.
  bool settle(std::size_t first, std::size_t count, std::size_t of);
  bool settle_failed(std::size_t first, std::size_t count, std::size_t of, const Failure& failure);
  const inboxd_sql_result* execute(std::size_t first, std::size_t count) const;
  void say(std::size_t first, std::size_t count, const inboxd::Outcome& outcome) const;

  inboxd_call* call_;
  const inboxd_sql& sql_;
  const Statement& statement_;
  const Permanent& permanent_;
};

}  // namespace sql_handler
