#pragma once
#include <inboxd/sql.h>

#include <cstddef>

#include "failure.hpp"
#include "statement.hpp"

namespace sql_handler {

/// Runs a statement for all events of a call, and where it fails for the halves, so that in the end only the events
/// that cannot be done alone are charged: one culprit in n costs about 2 log2(n) statements on 2 n events. Halves run
/// in order. Lives as long as the call.
class Bisection final {
 public:
  Bisection(inboxd_call* call, const inboxd_sql& sql, const Statement& statement, const Permanent& permanent)
      : call_{call}, sql_{sql}, statement_{statement}, permanent_{permanent} {}

  /// Gives each event its verdict. What has none at the end was not come to: the transaction is over (it is repeated,
  /// or the deadline is past: then what has a verdict is undone, too, and the events go one by one), and the daemon
  /// knows.
  void run(std::size_t count) { settle(0, count, count); }

 private:
  /// False: nothing more can be run in this call.
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
