#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "config/settings.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::inbox {

/// One connection slot to the database, a world of its own: one thread at a time. Opens when first used and again
/// after it was lost. Every statement has the configured deadline; when it passes, the socket is shut down and the
/// statement throws. A slot whose last statement was left in doubt waits, before it works again, until the server has
/// finished with the old session, so that a slot never has more than one unresolved backend.
///
/// The functions of this room take a Connection and throw what `describe` (database_error.hpp) reads.
class Connection final {
 public:
  /// `purpose` shows in pg_stat_activity as `inboxd PURPOSE`, behind a pooler with a mark of the slot's own.
  Connection(const config::Database& settings, std::string purpose, Watchdog& watchdog, base::Logger& log);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Opens the connection if it is not; throws where the server cannot be reached.
  void open();
  /// Forgets the connection; the next use opens a new one.
  void close() noexcept;
  bool is_open() const;
  /// Sessions that are opened from now on read no table from end to end where an index will do: what is asked all the
  /// time has a plan that is kept, and it may have been made while the table was all but empty.
  void prefer_indexes();
  /// The longest that a statement may take from now on.
  void set_deadline(std::chrono::milliseconds longest);
  /// All statements from now on, together: none goes on beyond that; one that begins later, or shortly before, has a
  /// second.
  void set_end(std::chrono::steady_clock::time_point end);
  /// Counts how often the slot was opened: a new number means that anything remembered of the session is stale.
  int generation() const;
  /// The address in the form a person knows it, without password: for messages.
  std::string where() const;

  /// Private to this room (connection_access.hpp).
  struct Access;
  Access& access() { return *access_; }

 private:
  std::unique_ptr<Access> access_;
};

}  // namespace inboxd::inbox
