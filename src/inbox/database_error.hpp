#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace inboxd::inbox {

/// What a database error means for the one who asked: the only place where that is decided.
enum class Fault {
  retry,      ///< the transaction was rolled back and may simply run again: deadlock, serialization, lock timeout
  reconnect,  ///< the connection or the server is gone or full; nothing was committed by this statement
  in_doubt,   ///< whether the statement was committed is unknown: only something idempotent may run again
  poison,     ///< the data itself is refused, whoever sends it and whenever
  stop,       ///< nothing that time or a retry mends: rights, a missing partition, a broken schema
};
std::string_view name_of(Fault fault);

/// A failed statement, told so that nobody outside this room needs the database library's types.
struct DatabaseFailure {
  Fault fault = Fault::stop;
  std::string sqlstate;  ///< empty where no server answered
  std::string message;   ///< the server's own sentence: for logs, never for decisions
  bool was_cut_off = false;  ///< the server had not answered in time, and the connection was ended on this side
};

/// What an SQLSTATE means; `wrote` says whether the statement could have committed something by itself.
Fault fault_of(std::string_view sqlstate);

/// Whether something that a statement names is not there: a table, column, function, type or schema. Somebody may be
/// about to make it.
bool is_missing(std::string_view sqlstate);

/// The server's own sentence, in any language, out of its verbose form: what stands behind the SQLSTATE. Without what
/// follows it, which may quote data. Where there is no SQLSTATE, all lines as one.
std::string sentence_of(std::string_view text, std::string_view sqlstate);

/// Reads the exception that a function of this room threw. Other exceptions are rethrown: they are bugs.
DatabaseFailure describe(std::exception_ptr thrown);

/// The same for loops that live on, since a process that ends leaves everything in hand to its leases: what is no error
/// of the database (memory or threads that are short, a bug) is told as `stop`, which is tried again after the longest
/// wait and said as an error.
DatabaseFailure describe_any(std::exception_ptr thrown);

}  // namespace inboxd::inbox
