#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace inboxd::inbox {

/// What the caller of a failed statement can do. fault_of alone decides it, by SQLSTATE.
enum class Fault {
  retry,      ///< rolled back; the transaction may run again: deadlock, serialization failure, lock timeout
  reconnect,  ///< the connection or the server is gone or full; this statement committed nothing
  in_doubt,   ///< the outcome of the COMMIT is unknown; only an idempotent statement may run again
  poison,     ///< the data is rejected, always and from any client
  stop,       ///< retrying does not help: rights, a missing partition, a broken schema
};
std::string_view name_of(Fault fault);
Fault fault_of(std::string_view sqlstate);

/// A failed statement, without the database library's types.
struct DatabaseFailure {
  Fault fault = Fault::stop;
  std::string sqlstate;      ///< empty: no server answered
  std::string message;       ///< the server's own sentence, for logs; never a basis for decisions
  bool was_cut_off = false;  ///< the server did not answer in time, and the watchdog shut the connection down
};

/// Thrown by every function of this room whose statement fails. `describe` reads it.
class DatabaseError final : public std::exception {
 public:
  explicit DatabaseError(DatabaseFailure failure) : failure_{std::move(failure)} {}
  const char* what() const noexcept override { return failure_.message.c_str(); }
  const DatabaseFailure& failure() const { return failure_; }

 private:
  DatabaseFailure failure_;
};

/// The statement names a table, column, function, type or schema that does not exist (yet).
bool is_missing(std::string_view sqlstate);

/// Our own SQLSTATE: the database's encoding is not UTF8.
inline constexpr std::string_view wrong_encoding = "IL002";

/// No session can be opened until the password, the role or the configuration changes. Starts and commands end with
/// such an error. A running daemon retries, because passwords are rotated under it.
bool is_login_refused(std::string_view sqlstate);      ///< wrong password, role, address or certificate
bool is_unusable_database(std::string_view sqlstate);  ///< no database of that name, or its encoding is not UTF8

/// The server's sentence without its verbose frame: the text after the SQLSTATE, in any language. Later lines are
/// dropped; they may quote data. Without an SQLSTATE, all lines joined together.
std::string sentence_of(std::string_view text, std::string_view sqlstate);

/// Reads an exception that a function of this room threw. Rethrows other exceptions: they are bugs.
DatabaseFailure describe(std::exception_ptr thrown);

/// As `describe`, for loops that must outlive any exception. An exception from elsewhere (out of memory, a bug) counts
/// as `stop`: it is logged as an error and retried after the longest wait. See `ask` in answer.hpp.
DatabaseFailure describe_any(std::exception_ptr thrown);
inline constexpr const char* not_a_database_error = "not a database error: ";

}  // namespace inboxd::inbox
